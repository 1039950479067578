//! A body of several files. <https://www.rfc-editor.org/rfc/rfc7578>

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use futures::stream::{BoxStream, Stream, StreamExt as _, unfold};
use multer::{Constraints, Field, SizeLimit};

use super::input::Incoming;
use crate::api::problem::Problem;
use crate::limits::PART_HEAD_BYTES_MAX;

/// One file of a body.
#[derive(Debug)]
pub(in crate::api) struct Part {
    /// What the part is called, as it is written.
    pub(in crate::api) name: String,
    pub(in crate::api) bytes: Bytes,
}

/// The files of a body, one after the other.
#[derive(Debug)]
pub(in crate::api) struct Parts {
    parts: multer::Multipart<'static>,
    given: Arc<Given>,
    part_bytes_max: usize,
}

/// What was given to be taken apart.
#[derive(Debug, Default)]
struct Given {
    /// Bytes since something came out.
    bytes: AtomicUsize,
    /// Why nothing more comes.
    problem: Mutex<Option<Problem>>,
}

impl Given {
    fn came_out(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    fn problem(&self) -> Option<Problem> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Parts {
    /// Those of a body that is `multipart/form-data`, of so many bytes each, and all together.
    pub(in crate::api) fn new(
        headers: &HeaderMap,
        body: Incoming,
        part_bytes_max: usize,
        bytes_max: u64,
    ) -> Result<Self, Problem> {
        let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let boundary = content_type.and_then(|it| multer::parse_boundary(it).ok());
        let boundary = boundary.ok_or_else(|| {
            let detail = "the body is `multipart/form-data`, each part a file, called by its path";
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail)
        })?;
        let given = Arc::new(Given::default());
        let paced = Paced { body: frames(body), given: given.clone(), gave: false };
        let limits = Constraints::new().size_limit(SizeLimit::new().whole_stream(bytes_max));
        let parts = multer::Multipart::with_constraints(paced, boundary, limits);
        Ok(Self { parts, given, part_bytes_max })
    }

    /// The next file; `None` after the last one, if the body has come to its proper end.
    ///
    /// # Errors
    /// If the body breaks off, is no such body, or has a part without a name or too large a one.
    pub(in crate::api) async fn next(&mut self) -> Result<Option<Part>, Problem> {
        let field = self.parts.next_field().await.map_err(|error| self.refused(&error))?;
        self.given.came_out();
        let Some(field) = field else { return Ok(None) };
        let Some(name) = field.name().map(str::to_owned) else {
            return Err(Problem::bad_request("part", "every part of the body has a name"));
        };
        let bytes = self.whole(field, &name).await?;
        Ok(Some(Part { name, bytes }))
    }

    async fn whole(&self, mut field: Field<'static>, name: &str) -> Result<Bytes, Problem> {
        let mut whole = BytesMut::new();
        while let Some(bytes) = field.chunk().await.map_err(|error| self.refused(&error))? {
            self.given.came_out();
            if whole.len() + bytes.len() > self.part_bytes_max {
                let bound = self.part_bytes_max;
                let detail = format!("`{name}` is larger than {bound} bytes");
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail));
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole.freeze())
    }

    fn refused(&self, error: &multer::Error) -> Problem {
        if let Some(problem) = self.given.problem() {
            return problem;
        }
        match error {
            multer::Error::StreamSizeExceeded { limit } => {
                let detail = format!("a body is at most {limit} bytes here");
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
            }
            multer::Error::StreamReadFailed(_) => {
                let detail = format!(
                    "the head of a part is at most {PART_HEAD_BYTES_MAX} bytes, and nothing stands before the first one"
                );
                Problem::bad_request("part", detail)
            }
            _ => Problem::bad_request(
                "parts",
                "the body is no whole `multipart/form-data`; nothing changed",
            ),
        }
    }
}

fn frames(body: Incoming) -> BoxStream<'static, Result<Bytes, Problem>> {
    unfold(Some(body), |body| async move {
        let mut body = body?;
        match body.next().await {
            Ok(Some(bytes)) => Some((Ok(bytes), Some(body))),
            Ok(None) => None,
            Err(problem) => Some((Err(problem), None)),
        }
    })
    .boxed()
}

/// Gives one piece at a time: what takes the body apart would else hold all that has arrived. And
/// no more than a part's head without that something comes out.
struct Paced {
    body: BoxStream<'static, Result<Bytes, Problem>>,
    given: Arc<Given>,
    gave: bool,
}

/// Nothing more is given.
#[derive(Debug, thiserror::Error)]
#[error("the body is not given any further")]
struct Stopped;

impl Stream for Paced {
    type Item = Result<Bytes, Stopped>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.gave) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.given.bytes.load(Ordering::Relaxed) > PART_HEAD_BYTES_MAX {
            return Poll::Ready(Some(Err(Stopped)));
        }
        let Poll::Ready(next) = self.body.poll_next_unpin(context) else { return Poll::Pending };
        Poll::Ready(next.map(|next| match next {
            Ok(bytes) => {
                self.given.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
                self.gave = true;
                Ok(bytes)
            }
            Err(problem) => {
                let mut slot = self.given.problem.lock().unwrap_or_else(PoisonError::into_inner);
                *slot = Some(problem);
                Err(Stopped)
            }
        }))
    }
}
