//! Traces, sent to a collector. They are of the operator's: ids of what there is, and nothing of
//! what is in there.

use std::time::Duration;

use clap::Args;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use super::super::failure::Failure;

const TRACES: &str = "Traces";
/// What this host is called in traces, unless `OTEL_SERVICE_NAME` says otherwise.
const SERVICE: &str = "bailiwick";
/// Where a collector takes traces, below its address.
/// <https://opentelemetry.io/docs/specs/otlp/#otlphttp-request>
const PATH: &str = "/v1/traces";
/// How long the last spans may take at the end. A collector that is gone holds up nobody.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// Where traces go.
#[derive(Debug, Args)]
pub(in crate::cli) struct TraceSettings {
    /// Collector that traces are sent to, as OTLP over HTTP: what comes before `/v1/traces`. By
    /// default nothing is sent. The other variables of OpenTelemetry, such as `OTEL_SERVICE_NAME`,
    /// `OTEL_TRACES_SAMPLER` and `OTEL_EXPORTER_OTLP_HEADERS`, mean what they do elsewhere.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        value_name = "URL",
        help_heading = TRACES
    )]
    otlp_endpoint: Option<String>,
}

/// Spans on their way to a collector, sent by a thread of their own.
#[derive(Debug)]
pub(in crate::cli) struct Traces(SdkTracerProvider);

impl TraceSettings {
    /// Begins to send; `None` if nobody wants traces.
    pub(in crate::cli) fn start(&self) -> Result<Option<Traces>, Failure> {
        let Some(url) = self.url() else { return Ok(None) };
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            let message = format!("{url} is no address of HTTP: give one with --otlp-endpoint");
            return Err(Failure::new(message));
        }
        let exporter = SpanExporter::builder().with_http().with_endpoint(url).build();
        let exporter = exporter
            .map_err(|error| Failure::because("traces cannot be sent to a collector", &error))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource())
            .build();
        Ok(Some(Traces(provider)))
    }

    /// Where to, whole. What is meant for traces alone goes before what is meant for all that is
    /// sent. <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>
    fn url(&self) -> Option<String> {
        if variable("OTEL_SDK_DISABLED").is_some_and(|word| word.eq_ignore_ascii_case("true")) {
            return None;
        }
        variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| {
            let base = self.otlp_endpoint.as_deref().filter(|base| !base.is_empty())?;
            Some(format!("{}{PATH}", base.trim_end_matches('/')))
        })
    }
}

fn resource() -> Resource {
    let resource = Resource::builder();
    match variable("OTEL_SERVICE_NAME") {
        Some(_) => resource.build(),
        None => resource.with_service_name(SERVICE).build(),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Traces {
    /// What takes this host's own spans.
    pub(in crate::cli) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let ours = Targets::new().with_target("bailiwick", LevelFilter::INFO);
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_filter(ours)
    }

    /// Sends what is left, for a few seconds at most.
    pub(in crate::cli) fn finish(self) {
        if let Err(error) = self.0.shutdown_with_timeout(LAST_SPANS) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}
