//! Callers that go away while a server takes its time.

use std::sync::Arc;
use std::time::Duration;

use bailiwick::store::Precondition;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::subject;
use crate::conformance::{Place, Plenty, content};
use crate::servers;

/// However far an upload was when its caller went away, even amid its own giving up, nothing of
/// it stays on the server.
#[tokio::test]
async fn an_upload_given_up_at_any_moment_leaves_nothing() {
    for server in [servers::seaweed(), servers::moto()].into_iter().flatten() {
        let gate = Gate::before(server.port).await;
        let mut config = server.config(gate.port);
        config.tuning.part_bytes = 5 << 20;
        let subject = subject("slow answers", server, &config).await;
        for moment in ["beginning", "sending", "sending many", "aborting", "completing"] {
            let key = Place::new().key(moment);
            let mut upload = subject.store.upload(&key, Precondition::Always).await.unwrap();
            if moment == "sending many" {
                upload.lend(Arc::new(Plenty));
            }
            if moment == "beginning" {
                gate.close();
                let write = upload.write(content(1, (5 << 20) + 1));
                assert!(given_up(write).await, "{moment}");
                drop(upload);
            } else {
                upload.write(content(1, (5 << 20) + 1)).await.unwrap();
                gate.close();
                match moment {
                    "sending" | "sending many" => {
                        assert!(given_up(upload.write(content(2, 40 << 20))).await, "{moment}");
                        drop(upload);
                    }
                    "aborting" => assert!(given_up(upload.abort()).await, "{moment}"),
                    _ => assert!(given_up(upload.complete()).await, "{moment}"),
                }
            }
            gate.open();
            tokio::time::sleep(Duration::from_millis(300)).await;
            subject.assert_nothing_left().await;
        }
    }
}

async fn given_up<T>(call: impl Future<Output = T>) -> bool {
    tokio::time::timeout(Duration::from_millis(200), call).await.is_err()
}

/// Lets requests through, and answers only while it is open.
struct Gate {
    port: u16,
    is_open: watch::Sender<bool>,
}

impl Gate {
    async fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_open = watch::Sender::new(true);
        let seen = is_open.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A connection that ends in an error is one that was given up.
                tokio::spawn(pass(client, server, seen.clone()));
            }
        });
        Self { port, is_open }
    }

    fn close(&self) {
        self.is_open.send_replace(false);
    }

    fn open(&self) {
        self.is_open.send_replace(true);
    }
}

async fn pass(client: TcpStream, server: u16, mut is_open: watch::Receiver<bool>) {
    let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = upstream.into_split();
    tokio::spawn(async move {
        _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    loop {
        let mut bytes = vec![0; 64 << 10];
        let Ok(length) = tokio::io::AsyncReadExt::read(&mut from_server, &mut bytes).await else {
            return;
        };
        let is_over = length == 0 || is_open.wait_for(|is_open| *is_open).await.is_err();
        if is_over || to_client.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}
