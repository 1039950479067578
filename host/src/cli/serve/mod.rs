//! The HTTP API, served.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bailiwick::api::token::Verifier;
use bailiwick::api::{Api, Metrics, ServeOptions, Served};
use bailiwick::clock::SystemClock;
use bailiwick::engine::Allocation;
use bailiwick::limits::Limits;
use bailiwick::space::Storage;
use bailiwick::store::ObservedStore;
use bailiwick::worker::{Mounting, Worker, WorkerOptions};
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::{Failure, say};
use super::interrupt::Interrupts;
use super::receipts::ReceiptSettings;
use super::run::engine_with;

mod tokens;
mod traces;

pub(super) use tokens::TokenSettings;
use traces::TraceSettings;
pub(super) use traces::Traces;

const SERVING: &str = "Serving";
/// Shorter leases would be lost to a moment's load.
const LEASE_MS_MIN: u64 = 2_000;

/// Serves the HTTP API until it is told to stop (Ctrl-C, SIGTERM).
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen. Without TLS: whatever faces the world brings it.
    #[arg(
        long,
        env = "BAILIWICK_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8080",
        help_heading = SERVING
    )]
    listen: SocketAddr,
    /// Connections at once; more wait to be taken.
    #[arg(
        long,
        env = "BAILIWICK_CONNECTIONS",
        value_name = "NUMBER",
        default_value = "1024",
        help_heading = SERVING
    )]
    connections: NonZeroUsize,
    /// How long nothing may come of a request, or nothing be taken of an answer.
    #[arg(
        long,
        env = "BAILIWICK_IDLE",
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        default_value = "60s",
        help_heading = SERVING
    )]
    idle: Duration,
    /// How long what is under way may take once it is told to stop.
    #[arg(
        long,
        env = "BAILIWICK_SHUTDOWN",
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        default_value = "30s",
        help_heading = SERVING
    )]
    shutdown: Duration,
    /// File with a secret: hosts that share it go on with each other's listings. By default the
    /// secret of the tokens, if there is one.
    #[arg(
        long,
        env = "BAILIWICK_CURSOR_SECRET_FILE",
        value_name = "FILE",
        help_heading = SERVING
    )]
    cursor_secret_file: Option<PathBuf>,
    /// Turns that run here at once; 0 for a host that answers requests and runs none.
    #[arg(
        long,
        env = "BAILIWICK_TURNS",
        value_name = "NUMBER",
        default_value = "100",
        help_heading = SERVING
    )]
    turns: usize,
    /// How long this host may be silent until its turns are given to others. No operation of the
    /// store takes longer than half of it.
    #[arg(
        long,
        env = "BAILIWICK_LEASE",
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        default_value = "6min",
        help_heading = SERVING
    )]
    lease: Duration,
    /// Fails turns whose folders cannot be set up, which otherwise go on without them.
    #[arg(long, env = "BAILIWICK_REQUIRE_MOUNTS", help_heading = SERVING)]
    require_mounts: bool,
    #[command(flatten)]
    receipts: ReceiptSettings,
    #[command(flatten)]
    tokens: TokenSettings,
    #[command(flatten)]
    traces: TraceSettings,
}

impl Serve {
    /// Where traces go, if anywhere.
    pub(super) fn traces(&self) -> Result<Option<Traces>, Failure> {
        self.traces.start()
    }

    pub(super) async fn run(self, place: Place) -> Outcome {
        // First of all: a signal that comes while it starts is one to stop.
        let mut interrupts = Interrupts::listen()?;
        let data_dir = place.data_dir()?;
        let options = self.tokens.verify_with(&data_dir)?;
        let receipt_key = self.receipts.key(&data_dir)?;
        let metrics =
            Metrics::new().map_err(|error| Failure::because("nothing can be counted", &error))?;
        let observer = Arc::new(metrics.clone());
        let limits = self.limits()?;
        let engine = engine_with(&place, limits.clone(), Allocation::Pooling)?;
        let key = self.tokens.seal_key(&data_dir, self.cursor_secret_file.as_deref())?;
        let desk = Desk::open_with(&place, limits, |store, clock, limits| {
            Storage::sealed(Arc::new(ObservedStore::new(store, observer)), clock, limits, &key)
        });
        let desk = tokio::select! {
            desk = desk => desk?,
            () = interrupts.next() => return Err(Failure::Cancelled("stopped".to_owned())),
        };
        let listener = self.listener().await?;
        let verifier = Verifier::new(options, Arc::new(SystemClock));
        let (catalog, storage) = ((*desk.catalog).clone(), desk.storage.clone());
        let api = Api::new(catalog.clone(), storage.clone(), engine.clone(), verifier, metrics);
        let address = listener.local_addr().unwrap_or(self.listen);
        say(&format!("serving http://{address}"));
        let sweeping = tokio::spawn(api.sweeping());
        let collecting = tokio::spawn(api.collecting());
        let erasing = tokio::spawn(api.erasing(receipt_key));
        let (stop, mut stopping) = watch::channel(false);
        let worker = Worker::new(WorkerOptions {
            catalog,
            engine,
            storage,
            host: Uuid::new_v4().to_string(),
            turns_max: self.turns,
            mounting: if self.require_mounts { Mounting::Required } else { Mounting::BestEffort },
        });
        let patience = self.shutdown;
        let working = tokio::spawn(async move {
            // Whoever would tell is gone only with the process.
            let told = async { _ = stopping.wait_for(|stop| *stop).await };
            worker.run(told, patience).await;
        });
        let stopped = async move {
            interrupts.next().await;
            say("stopping; once more ends it at once");
            _ = stop.send(true);
            interrupts.end_the_process();
        };
        let served = api.serve(listener, self.options(), stopped).await;
        sweeping.abort();
        collecting.abort();
        erasing.abort();
        if let Err(error) = working.await {
            tracing::error!(%error, "the worker did not end well");
        }
        // Uploads that were broken off are given up before the process ends.
        desk.storage.settled(Duration::from_secs(10)).await;
        match served {
            Served::Whole => say("stopped"),
            Served::BrokenOff(count) => {
                say(&format!("stopped; {count} that did not end in time were broken off"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn limits(&self) -> Result<Limits, Failure> {
        let limits = Limits::default();
        let lease_ms = ms(self.lease);
        if lease_ms < LEASE_MS_MIN {
            return Err(Failure::new(format!("a lease is at least {LEASE_MS_MIN} ms")));
        }
        let most = |ms: u64| ms.min(lease_ms / 2);
        Ok(Limits {
            turn_lease_ms: lease_ms,
            transfer_ms_max: most(limits.transfer_ms_max),
            operation_ms_max: most(limits.operation_ms_max),
            ..limits
        })
    }

    async fn listener(&self) -> Result<TcpListener, Failure> {
        TcpListener::bind(self.listen).await.map_err(|error| {
            let message =
                format!("{} cannot be listened on: choose another with --listen", self.listen);
            Failure::because(message, &error)
        })
    }

    fn options(&self) -> ServeOptions {
        ServeOptions {
            connections_max: self.connections.get(),
            shutdown_ms: ms(self.shutdown),
            idle_ms: ms(self.idle).max(1),
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
