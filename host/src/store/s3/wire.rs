//! One request, signed and sent: what is asked for most often goes past the SDK's client, which
//! spends several times as much on each, and over the connections that it uses as well.
//!
//! Nothing is sent twice here, and nothing judged but whether an answer is one.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use aws_sdk_s3::config::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};

use super::errors::{Failure, FailureKind};

mod address;
mod answer;
mod content;
mod identity;
mod refusal;
mod signing;
mod time;

pub(super) use address::{Address, encoded_query};
pub(super) use answer::Answer;
pub(super) use content::{Content, Crc32c};
pub(super) use time::{ServerTime, Stamp};

use identity::{Identities, Identity};
use refusal::Refusal;
use signing::{Unsigned, content_hash};

/// Sends requests about the objects of one bucket.
#[derive(Debug)]
pub(super) struct Wire {
    connector: SharedHttpConnector,
    address: Address,
    identities: Identities,
    time: ServerTime,
    limits: WireLimits,
}

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireLimits {
    /// Until its answer begins.
    pub(super) request: Duration,
    /// Until more of an answer comes.
    pub(super) idle: Duration,
}

/// A field of a request's head; its name is in lower case.
pub(super) type Field = (&'static str, Cow<'static, str>);

/// A request about one object.
pub(super) struct Call {
    pub(super) method: Method,
    /// The object's whole name.
    pub(super) name: String,
    /// Encoded, in order of names; empty for none.
    pub(super) query: String,
    /// Those that are about the object.
    pub(super) fields: Vec<Field>,
    pub(super) content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Put,
    Delete,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

impl Call {
    /// Without conditions or a body.
    pub(super) fn new(method: Method, name: String) -> Self {
        let fields = Vec::with_capacity(FIELDS_USUAL);
        Self { method, name, query: String::new(), fields, content: Content::default() }
    }

    pub(super) fn field(&mut self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        self.fields.push((name, value.into()));
    }
}

/// How many fields a request has, those of its signature included.
const FIELDS_USUAL: usize = 12;
const USER_AGENT: &str = concat!("bailiwick/", env!("CARGO_PKG_VERSION"));

impl Wire {
    pub(super) fn new(
        connector: SharedHttpConnector,
        address: Address,
        credentials: SharedCredentialsProvider,
        time: ServerTime,
        limits: WireLimits,
    ) -> Self {
        Self { connector, address, identities: Identities::new(credentials), time, limits }
    }

    /// Sends one request, and waits for the head of its answer, which is that of a success.
    pub(super) async fn send(&self, call: Call) -> Result<Answer, Failure> {
        let identity = self.identities.current(&self.time).await?;
        let stamp = self.time.stamp();
        let mut request = self.request(call, &identity, &stamp)?;
        let connection = CaptureSmithyConnection::new();
        request.add_extension(connection.clone());
        let response = match tokio::time::timeout(self.limits.request, self.called(request)).await {
            Ok(answered) => answered?,
            Err(_) => return Err(Failure::lost("S3 did not answer in time")),
        };
        let answer = Answer::new(response, self.limits.idle);
        if answer.is_success() {
            return Ok(answer);
        }
        if answer.status() >= 500
            && let Some(connection) = connection.get()
        {
            // One of many servers may be unwell: the next request finds another one.
            connection.poison();
        }
        Err(self.refused(answer, &stamp).await)
    }

    async fn called(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        self.connector.call(request).await.map_err(Failure::unanswered)
    }

    fn request(
        &self,
        mut call: Call,
        identity: &Identity,
        stamp: &Stamp,
    ) -> Result<HttpRequest, Failure> {
        let uri = self.address.uri(&call.name, &call.query);
        let hash = content_hash(&call.content, self.address.payload());
        call.field("host", self.address.host().to_owned());
        call.field("x-amz-content-sha256", hash.clone());
        call.field("x-amz-date", stamp.to_string());
        if let Some(token) = identity.session_token() {
            call.field("x-amz-security-token", token.to_owned());
        }
        call.fields.sort_unstable_by_key(|(name, _)| *name);
        let unsigned = Unsigned {
            method: call.method.name(),
            path: self.address.path_of(&uri, &call.query),
            query: &call.query,
            fields: &call.fields,
            content_hash: &hash,
        };
        let authorization = identity.authorize(&unsigned, stamp, self.address.scope());
        call.field("authorization", authorization);
        call.field("user-agent", USER_AGENT);
        if call.method == Method::Put {
            // Said of nothing as well: S3 asks for it, and HTTP would leave it out.
            let length = call.content.len().to_string();
            call.field("content-length", length);
        }
        whole(call, uri)
    }

    /// What an answer means that is none of a success.
    async fn refused(&self, answer: Answer, stamp: &Stamp) -> Failure {
        let (status, server_ms) = (answer.status(), answer.date_ms());
        let refusal = match answer.text().await {
            Ok(text) => Refusal::read(&text),
            Err(failure) => return failure,
        };
        let failure = refusal.failure(status);
        let is_late = refusal.may_be_about_time(status) && self.time.learns(stamp, server_ms);
        if is_late { Failure { kind: FailureKind::Again, ..failure } } else { failure }
    }
}

fn whole(call: Call, uri: String) -> Result<HttpRequest, Failure> {
    let unfit = |error| Failure::new(FailureKind::Refused, anyhow::Error::new(error));
    let mut request = HttpRequest::new(call.content.into_body());
    request.set_method(call.method.name()).map_err(unfit)?;
    request.set_uri(uri).map_err(unfit)?;
    for (name, value) in call.fields {
        request.headers_mut().try_insert(name, value).map_err(unfit)?;
    }
    Ok(request)
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.method, self.name)
    }
}

#[cfg(test)]
mod tests;
