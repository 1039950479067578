use uuid::Uuid;

use super::*;
use crate::limits::PATH_REST_BYTES_MAX;
use crate::scope::{Sha256, skill_blob};

#[test]
fn a_deletion_covers_every_file_of_what_was_deleted_and_no_other() {
    let (workspace, agent, session) = (
        WorkspaceId(Uuid::from_u128(1)),
        AgentId(Uuid::from_u128(2)),
        SessionId(Uuid::from_u128(3)),
    );
    let longest = ["x".repeat(255), "x".repeat(255), "x".repeat(256 - 2), "y".into()].join("/");
    assert_eq!(longest.len(), PATH_REST_BYTES_MAX);
    let session_file = format!("sessions/{workspace}/{agent}/{session}/{longest}");
    let agent_file = format!("agents/{workspace}/{agent}/{longest}");
    let workspace_file = format!("workspaces/{workspace}/{longest}");
    let blob = skill_blob(workspace, Sha256([1; 32])).as_str().to_owned();
    let files = [&session_file, &agent_file, &workspace_file, &blob];
    let covered = |deletion: Deletion| {
        let prefixes = deletion.prefixes();
        files.map(|file| prefixes.iter().any(|prefix| prefix.key(file).is_some()))
    };
    assert_eq!(covered(Deletion::Session(workspace, agent, session)), [true, false, false, false]);
    assert_eq!(covered(Deletion::Agent(workspace, agent)), [true, true, false, false]);
    assert_eq!(covered(Deletion::Workspace(workspace)), [true, true, true, true]);
    let texts = files.map(|file| format!("extracted/{file}"));
    let prefixes = Deletion::Workspace(workspace).prefixes();
    let is_covered = |text: &String| prefixes.iter().any(|prefix| prefix.key(text).is_some());
    assert!(texts.iter().all(is_covered));
    let other = WorkspaceId(Uuid::from_u128(9));
    assert_eq!(covered(Deletion::Workspace(other)), [false; 4]);
}

#[test]
fn the_bounds_of_a_path_hold_from_wherever_a_listing_began() {
    let prefixes = Deletion::Workspace(WorkspaceId(Uuid::from_u128(1))).prefixes();
    let key = format!("{}{}", prefixes[2].as_str(), "x/".repeat(PATH_REST_BYTES_MAX / 2));
    assert!(prefixes[2].key(format!("{key}x")).is_none(), "one byte too long");
    assert!(prefixes[0].key(format!("{}no-ids", prefixes[0].as_str())).is_some());
}
