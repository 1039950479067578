//! A small agent platform: `embed --help`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use embed::http;
use embed::model::Backend;
use embed::model::openai::{OpenAi, OpenAiOptions};
use embed::model::script::Script;
use embed::platform::{Platform, PlatformOptions};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

/// How long turns that run are waited for at the end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A small agent platform: one agent, a language model, and one page of HTTP.
#[derive(Debug, Parser)]
#[command(after_help = "The key of the model's service is read from OPENAI_API_KEY.")]
struct Arguments {
    /// Where to listen. Whoever reaches it may ask.
    #[arg(long, env = "EMBED_LISTEN", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Where everything is kept; made if need be.
    #[arg(long, env = "EMBED_DATA", value_name = "DIR", default_value = "embed-data")]
    data: PathBuf,
    /// What the agent runs.
    #[arg(long, env = "EMBED_COMPONENT", value_name = "FILE")]
    component: PathBuf,
    /// Answers in place of a model: see examples/embed/script.json.
    #[arg(long, env = "EMBED_SCRIPT", value_name = "FILE")]
    script: Option<PathBuf>,
    /// What comes before `/chat/completions` of the model's service.
    #[arg(
        long,
        env = "OPENAI_BASE_URL",
        value_name = "URL",
        default_value = "https://api.openai.com/v1"
    )]
    base_url: String,
    /// Which model.
    #[arg(long, env = "OPENAI_MODEL", required_unless_present = "script")]
    model: Option<String>,
    /// How many seconds the model may take for an answer.
    #[arg(long, env = "EMBED_PATIENCE", value_name = "SECONDS", default_value = "120")]
    patience: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    let mut stop = Stop::listen()?;
    let component = read(&arguments.component)?;
    let platform = Platform::open(PlatformOptions {
        folder: &arguments.data,
        component: &component,
        backend: arguments.backend()?,
    });
    let platform = platform.await?;
    let listener = TcpListener::bind(arguments.listen).await?;
    println!("listening on http://{}", listener.local_addr()?);

    let (stopping, mut told) = watch::channel(false);
    let worker = platform.clone();
    let working = tokio::spawn(async move {
        worker.run(async move { drop(told.wait_for(|stop| *stop).await) }, PATIENCE).await;
    });
    tokio::select! {
        served = axum::serve(listener, http::router(platform)).into_future() => served?,
        () = stop.asked() => {}
    }
    stopping.send_replace(true);
    working.await.context("the worker")
}

impl Arguments {
    fn backend(&self) -> anyhow::Result<Backend> {
        if let Some(file) = &self.script {
            let text = String::from_utf8(read(file)?).context("the script")?;
            let script = Script::parse(&text).context("the script")?;
            return Ok(Backend::Script(script));
        }
        let service = OpenAi::new(OpenAiOptions {
            base_url: self.base_url.clone(),
            key: std::env::var("OPENAI_API_KEY").ok().filter(|key| !key.is_empty()),
            model: self.model.clone().unwrap_or_default(),
            patience: Duration::from_secs(self.patience),
        })?;
        Ok(Backend::OpenAi(service))
    }
}

#[expect(clippy::disallowed_methods, reason = "files that its operator names")]
fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// Ctrl-C, and what `kill` sends.
struct Stop {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Stop {
    fn listen() -> anyhow::Result<Self> {
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
