//! What is counted, in the text format of Prometheus. Labels are words of this program alone:
//! nothing that a request says becomes one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};
use tokio::time::Instant;

use crate::erasure;
use crate::retention;
use crate::store::Observer;

/// From half a millisecond to half a minute.
const SECONDS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

/// The counters of one process.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    registry: Registry,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    streams: IntGauge,
    connections: IntGauge,
    store_seconds: HistogramVec,
    swept: IntCounterVec,
    owed: IntGauge,
    erasures: IntGaugeVec,
}

impl Metrics {
    /// Counters at zero.
    ///
    /// # Errors
    /// None that this program's own names could cause.
    pub fn new() -> anyhow::Result<Self> {
        let seconds = |name: &str, help: &str, labels: &[&str]| {
            HistogramVec::new(HistogramOpts::new(name, help).buckets(SECONDS.into()), labels)
        };
        let counters = Counters {
            registry: Registry::new(),
            requests: IntCounterVec::new(
                Opts::new("bailiwick_http_requests_total", "Requests answered."),
                &["method", "route", "status"],
            )?,
            request_seconds: seconds(
                "bailiwick_http_request_seconds",
                "Time to the head of the answer.",
                &["method", "route"],
            )?,
            streams: IntGauge::new(
                "bailiwick_http_streams_open",
                "Requests under way, until their answers were taken.",
            )?,
            connections: IntGauge::new("bailiwick_http_connections_open", "Connections.")?,
            store_seconds: seconds(
                "bailiwick_store_operation_seconds",
                "Operations of the store, by what came of them.",
                &["operation", "outcome"],
            )?,
            swept: IntCounterVec::new(
                Opts::new(
                    "bailiwick_swept_total",
                    "What was removed for its age, or after its deletion.",
                ),
                &["what"],
            )?,
            owed: IntGauge::new(
                "bailiwick_deletions_owed",
                "Deletions of which it is not known yet that nothing is left, up to 1,000.",
            )?,
            erasures: IntGaugeVec::new(
                Opts::new(
                    "bailiwick_erasures",
                    "Erasures that are not proved: all of them, those whose deadline is near, and those that are late.",
                ),
                &["standing"],
            )?,
        };
        counters.register().context("counters of this program's own")?;
        Ok(Self(Arc::new(counters)))
    }

    /// What was counted so far.
    pub(super) fn text(&self) -> String {
        let families = self.0.registry.gather();
        TextEncoder::new().encode_to_string(&families).unwrap_or_default()
    }

    /// One connection more, until what this returns is dropped.
    pub(super) fn connection(&self) -> Open {
        Open::new(self.0.connections.clone())
    }
}

impl Counters {
    fn register(&self) -> prometheus::Result<()> {
        self.registry.register(Box::new(self.requests.clone()))?;
        self.registry.register(Box::new(self.request_seconds.clone()))?;
        self.registry.register(Box::new(self.streams.clone()))?;
        self.registry.register(Box::new(self.connections.clone()))?;
        self.registry.register(Box::new(self.erasures.clone()))?;
        self.registry.register(Box::new(self.store_seconds.clone()))?;
        self.registry.register(Box::new(self.swept.clone()))?;
        self.registry.register(Box::new(self.owed.clone()))
    }
}

impl Observer for Metrics {
    fn operated(&self, operation: &'static str, outcome: &'static str, took: Duration) {
        self.0.store_seconds.with_label_values(&[operation, outcome]).observe(took.as_secs_f64());
    }
}

impl retention::Observer for Metrics {
    fn swept(&self, what: &'static str, count: u64) {
        self.0.swept.with_label_values(&[what]).inc_by(count);
    }

    fn owed(&self, deletions: u64) {
        self.0.owed.set(i64::try_from(deletions).unwrap_or(i64::MAX));
    }
}

impl erasure::Observer for Metrics {
    fn erasures(&self, open: u64, near: u64, late: u64) {
        for (standing, count) in [("open", open), ("near", near), ("late", late)] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.0.erasures.with_label_values(&[standing]).set(count);
        }
    }
}

/// Counts a request: for every route, the unknown one included.
pub(super) async fn count(
    State(metrics): State<Metrics>,
    request: Request,
    next: Next,
) -> Response {
    let open = Open::new(metrics.0.streams.clone());
    let method = known(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let began = Instant::now();
    let response = next.run(request).await;
    let took = began.elapsed().as_secs_f64();
    metrics.0.request_seconds.with_label_values(&[method, route]).observe(took);
    let status = response.status();
    metrics.0.requests.with_label_values(&[method, route, status.as_str()]).inc();
    response.map(|body| Body::new(Held { body, _open: open }))
}

/// A method that somebody made up is no label.
pub(super) fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// One more of something that is open, until it is dropped.
#[derive(Debug)]
pub(super) struct Open(IntGauge);

impl Open {
    fn new(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A body that counts as open until it was taken or given up.
struct Held {
    body: Body,
    _open: Open,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
