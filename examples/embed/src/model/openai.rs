//! A client of chat completions, for any service that speaks as OpenAI's does.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};

use super::{Answer, Error, ErrorCode, Message, Tool, error, wire};

/// Largest answer that is taken, in bytes.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// How often a call is made that the service had no time for.
const ATTEMPTS_MAX: u32 = 3;
/// How long is waited before it is made again, where the service does not say; twice as long the
/// next time. A service that asks for more than the longest pause is not waited for.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// How long it may take to reach the service.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A service, and how it is asked. The key is shown by nothing.
#[derive(Clone)]
pub struct OpenAiOptions {
    /// What comes before `/chat/completions`.
    pub base_url: String,
    /// What the service knows this platform by.
    pub key: Option<String>,
    /// Which model.
    pub model: String,
    /// How long one call may take, with all its attempts.
    pub patience: Duration,
}

impl fmt::Debug for OpenAiOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiOptions").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A service that speaks as OpenAI's does.
#[derive(Debug)]
pub struct OpenAi {
    client: Client,
    url: Url,
    model: String,
    patience: Duration,
}

/// Why one attempt came to nothing.
struct Failed {
    error: Error,
    again: Again,
}

/// Whether another attempt may come to something.
enum Again {
    Never,
    /// After a pause; how long, if the service says so.
    After(Option<Duration>),
}

impl OpenAi {
    /// A client. Nothing is sent yet.
    ///
    /// # Errors
    /// If the URL or the key are none.
    pub fn new(options: OpenAiOptions) -> anyhow::Result<Self> {
        let OpenAiOptions { base_url, key, model, patience } = options;
        let url = format!("{}/chat/completions", base_url.trim_end_matches('/'));
        let url = Url::parse(&url).context("the model's base URL is none")?;
        ensure!(["http", "https"].contains(&url.scheme()), "the model's base URL is not of HTTP");
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .map_err(|_| anyhow::anyhow!("the model's key is none"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // Whoever is sent elsewhere would send the conversation there.
        let client = Client::builder().redirect(Policy::none()).connect_timeout(CONNECT_MAX);
        let client = client.default_headers(headers).build()?;
        Ok(Self { client, url, model, patience })
    }

    pub(super) async fn complete(
        &self,
        messages: &[Message],
        tools: &[Tool],
    ) -> Result<Answer, Error> {
        let body = wire::request(&self.model, messages, tools)?;
        let answer = tokio::time::timeout(self.patience, self.attempts(body)).await;
        answer.unwrap_or_else(|_| {
            Err(error(ErrorCode::Unavailable, "the model took too long to answer"))
        })
    }

    async fn attempts(&self, body: Vec<u8>) -> Result<Answer, Error> {
        let mut pause = PAUSE;
        let mut attempt = 1;
        loop {
            let Failed { error, again } = match self.attempt(body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let Again::After(wanted) = again else { return Err(error) };
            let wait = wanted.unwrap_or(pause);
            if attempt == ATTEMPTS_MAX || wait > PAUSE_MAX {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    async fn attempt(&self, body: Vec<u8>) -> Result<Answer, Failed> {
        let sent = self.client.post(self.url.clone()).body(body).send().await;
        let response = sent.map_err(|cause| unreached(&cause))?;
        let status = response.status();
        let wait = retry_after(&response);
        let body = take(response).await?;
        if status.is_success() {
            return wire::answer(&body).map_err(Failed::for_good);
        }
        Err(refused(status, wait, &body))
    }
}

impl Failed {
    fn for_good(error: Error) -> Self {
        Self { error, again: Again::Never }
    }
}

/// A guest is told nothing of what lies beyond: the log is. Without its URL, which may hold more
/// than an address.
fn unreached(cause: &reqwest::Error) -> Failed {
    tracing::warn!(
        connecting = cause.is_connect(),
        late = cause.is_timeout(),
        "the model's service was not reached"
    );
    let error = error(ErrorCode::Unavailable, "the model's service cannot be reached");
    Failed { error, again: Again::After(None) }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

async fn take(mut response: Response) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|cause| unreached(&cause))? {
        if body.len() + piece.len() > ANSWER_BYTES_MAX {
            let sentence = format!("the model's answer is larger than {ANSWER_BYTES_MAX} bytes");
            return Err(Failed::for_good(error(ErrorCode::TooLarge, sentence)));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn refused(status: StatusCode, wait: Option<Duration>, body: &[u8]) -> Failed {
    let code = wire::failure_code(body);
    tracing::warn!(%status, code = code.as_deref(), "the model's service refused");
    if code.as_deref() == Some("context_length_exceeded") {
        let sentence = "the conversation is too long for the model: leave older messages out";
        return Failed::for_good(error(ErrorCode::TooLarge, sentence));
    }
    if code.as_deref() == Some("insufficient_quota") {
        let sentence = "the model's service has no more for this platform";
        return Failed::for_good(error(ErrorCode::Unavailable, sentence));
    }
    if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE {
        let error = error(ErrorCode::Busy, "the model's service is busy: ask again later");
        return Failed { error, again: Again::After(wait) };
    }
    let error = error(ErrorCode::Unavailable, "the model's service failed");
    let again = if status.is_server_error() { Again::After(wait) } else { Again::Never };
    Failed { error, again }
}
