//! Buckets that keep versions.

use std::sync::Arc;

use bailiwick::clock::SystemClock;
use bailiwick::limits::Limits;
use bailiwick::scope::{
    Access, AgentId, Coordinates, Deletion, Grant, MountTable, SessionId, SkillTable, WorkspaceId,
};
use bailiwick::space::{Space, Storage};
use bailiwick::store::s3::S3Config;
use bailiwick::store::{ObjectStore, Precondition};
use uuid::Uuid;

use crate::conformance::content;
use crate::servers::{self, Server};

const ALWAYS: Precondition = Precondition::Always;

fn coordinates() -> Coordinates {
    Coordinates {
        workspace: WorkspaceId(Uuid::new_v4()),
        agent: AgentId(Uuid::new_v4()),
        session: Some(SessionId(Uuid::new_v4())),
    }
}

fn space_of(storage: &Arc<Storage>, coordinates: Coordinates) -> Space {
    let all = Some(Access::ReadWrite);
    let grant = Grant { agent: all, workspace: all };
    storage.space(MountTable::new(coordinates, grant, SkillTable::default()))
}

/// What a bucket still holds, asked past the store: versions, marks of deletions, uploads.
async fn held(server: &Server, bucket: &str, word: &str) -> Vec<String> {
    let client = server.client(server.port);
    let versions = client.list_object_versions().bucket(bucket).send().await.unwrap();
    let uploads = client.list_multipart_uploads().bucket(bucket).send().await.unwrap();
    let names = versions.versions().iter().filter_map(|version| version.key());
    let names = names.chain(versions.delete_markers().iter().filter_map(|marker| marker.key()));
    let names = names.chain(uploads.uploads().iter().filter_map(|upload| upload.key()));
    names.filter(|name| name.contains(word)).map(str::to_owned).collect()
}

/// Nothing of an erased workspace is left in a bucket that keeps versions: no version, no mark of a
/// deletion, no part. Its neighbour keeps all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_an_erased_workspace_is_left() {
    for server in [servers::seaweed(), servers::moto()].into_iter().flatten() {
        let bucket = server.versioned_bucket().await;
        let config = S3Config { bucket: bucket.clone(), ..server.config(server.port) };
        let store = servers::open(&config).await;
        let (doomed, kept) = (coordinates(), coordinates());
        let storage =
            Storage::new(Arc::new(store.clone()), Arc::new(SystemClock), Limits::default());
        for of in [doomed, kept] {
            let space = space_of(&storage, of);
            for (path, text) in [
                ("session/a", "first"),
                ("session/a", "second"),
                ("session/a/b c+d", "third"),
                ("agent/notes", "fourth"),
                ("workspace/shared", "fifth"),
            ] {
                space.write(path, text.into(), ALWAYS).await.unwrap();
            }
            space.delete("session/a", ALWAYS).await.unwrap();
            space.delete("agent/notes", ALWAYS).await.unwrap();
            space.write("agent/notes", "sixth".into(), ALWAYS).await.unwrap();
        }
        // An upload whose host is gone.
        let prefix = &Deletion::Workspace(doomed.workspace).prefixes()[2];
        let key = prefix.key(format!("{}large", prefix.as_str())).unwrap();
        let mut upload = store.upload(&key, ALWAYS).await.unwrap();
        upload.write(content(1, 9 << 20)).await.unwrap();
        upload.write(content(2, 9 << 20)).await.unwrap();
        std::mem::forget(upload);
        let workspace = doomed.workspace.to_string();
        assert!(!held(server, &bucket, &workspace).await.is_empty());
        let of_kept = kept.workspace.to_string();
        let before = held(server, &bucket, &of_kept).await;

        let emptied = storage.empty(Deletion::Workspace(doomed.workspace)).await.unwrap();
        assert_eq!(held(server, &bucket, &workspace).await, [""; 0], "{}", server.name);
        assert_eq!(held(server, &bucket, &of_kept).await, before, "{}", server.name);
        assert!(emptied.unseen.is_empty(), "{emptied:?}");
        let things = (emptied.files, emptied.versions, emptied.markers, emptied.uploads);
        assert_eq!(things, (3, 3, 2, 1), "{}", server.name);
    }
}
