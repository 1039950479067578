//! What is held in memory while it is sent: so much of it at once, and no more.

use axum::body::Body;
use axum::http::{Method, StatusCode};
use bailiwick::api::authority::Authority;
use bailiwick::limits::{HOST_COMPONENT_UPLOADS_MAX, HOST_PUBLISHES_MAX, HOST_SPILLS_MAX};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{pending, poll_fn};
use std::convert::Infallible;
use std::task::Poll;
use tokio::sync::mpsc;
use tower::ServiceExt as _;

use super::{Door, Who, request};

struct Held {
    what: &'static str,
    method: Method,
    path: String,
    who: Who,
    places: usize,
}

/// A body that says when it is read, and never comes.
fn endless(read: mpsc::UnboundedSender<()>) -> Body {
    let told = poll_fn(move |_| {
        let _ = read.send(());
        Poll::Ready(None::<Result<Bytes, Infallible>>)
    });
    Body::from_stream(told.chain(pending()))
}

#[tokio::test]
async fn bodies_that_are_held_are_so_many_at_once() {
    let door = Door::new().await;
    let admin = door.who("root", &[Authority::Admin, Authority::SkillsWrite]);
    let all = [
        Held {
            what: "components",
            method: Method::PUT,
            path: door.in_workspace("/components/echo"),
            who: admin.clone(),
            places: HOST_COMPONENT_UPLOADS_MAX,
        },
        Held {
            what: "versions of skills",
            method: Method::PUT,
            path: door.in_workspace("/skills/pdf/versions"),
            who: admin,
            places: HOST_PUBLISHES_MAX,
        },
        Held {
            what: "results to spill",
            method: Method::POST,
            path: door.in_session("/spill?name=a.txt"),
            who: door.ann(),
            places: HOST_SPILLS_MAX,
        },
    ];
    for held in all {
        let ask = |body: Body| {
            let request = request(&held.who, held.method.clone(), &held.path)
                .header("content-type", "multipart/form-data; boundary=x");
            door.router.clone().oneshot(request.body(body).unwrap())
        };
        let (read, mut was_read) = mpsc::unbounded_channel();
        let mut under_way: Vec<_> =
            (0..held.places).map(|_| tokio::spawn(ask(endless(read.clone())))).collect();
        for _ in 0..held.places {
            was_read.recv().await.unwrap();
        }
        let refused = ask(Body::empty()).await.unwrap();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{}", held.what);
        let gone = under_way.pop().unwrap();
        gone.abort();
        gone.await.unwrap_err();
        let admitted = ask(Body::empty()).await.unwrap();
        assert_ne!(admitted.status(), StatusCode::SERVICE_UNAVAILABLE, "{}", held.what);
        under_way.iter().for_each(|request| request.abort());
    }
}
