//! Connections: how many, for how long, and how they end.
//!
//! HTTP/1.1 without encryption: whatever faces the world (a proxy, an ingress) brings TLS, and
//! other versions of HTTP, along.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;

use super::Api;
use super::http::input::Idle;
use super::metrics::Metrics;
use crate::limits::{REQUEST_FIELDS_MAX, REQUEST_HEAD_BYTES_MAX, REQUEST_IDLE_MS_MAX};

/// How long no connection is taken after one could not be: none is free.
const REST: Duration = Duration::from_millis(100);

/// Bounds of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Connections at once; more wait to be taken.
    pub connections_max: usize,
    /// How long what is under way may take once the server is to end, in milliseconds.
    pub shutdown_ms: u64,
    /// How long nothing may come of a request, or nothing be taken of an answer, in milliseconds.
    pub idle_ms: u64,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { connections_max: 1_024, shutdown_ms: 30_000, idle_ms: REQUEST_IDLE_MS_MAX }
    }
}

impl ServeOptions {
    fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Everything that was under way came to its end.
    Whole,
    /// So many connections were broken off.
    BrokenOff(usize),
}

impl Api {
    /// Answers requests until `shutdown` is ready; then takes no new ones, and lets those that are
    /// under way come to their end, for so long at most.
    pub async fn serve(
        &self,
        listener: TcpListener,
        options: ServeOptions,
        shutdown: impl Future<Output = ()>,
    ) -> Served {
        let mut server = Server {
            router: self.router().layer(Extension(Idle(options.idle()))),
            metrics: self.metrics().clone(),
            options,
            graceful: GracefulShutdown::new(),
            connections: JoinSet::new(),
        };
        tokio::select! {
            () = server.accept(&listener) => {}
            () = shutdown => {}
        }
        drop(listener);
        self.0.close();
        server.end().await
    }
}

struct Server {
    router: Router,
    metrics: Metrics,
    options: ServeOptions,
    graceful: GracefulShutdown,
    connections: JoinSet<()>,
}

impl Server {
    /// Takes connections for ever.
    async fn accept(&mut self, listener: &TcpListener) {
        let places = Arc::new(Semaphore::new(self.options.connections_max));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            while self.connections.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((stream, _)) => {
                    let connection = self.connection(stream);
                    self.connections.spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    fn connection(&self, stream: TcpStream) -> impl Future<Output = ()> + Send + use<> {
        let idle = self.options.idle();
        let open = self.metrics.connection();
        // Answers are small or written in large pieces: there is nothing to wait for.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(idle));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(idle)
            .max_headers(REQUEST_FIELDS_MAX)
            .max_buf_size(REQUEST_HEAD_BYTES_MAX)
            .serve_connection(
                TokioIo::new(Box::pin(stream)),
                TowerToHyperService::new(self.router.clone()),
            );
        let watched = self.graceful.watch(connection);
        async move {
            let _open = open;
            if let Err(error) = watched.await {
                // Whoever was there is gone, or sent what is no HTTP.
                tracing::debug!(%error, "a connection broke off");
            }
        }
    }

    async fn end(mut self) -> Served {
        let within = Duration::from_millis(self.options.shutdown_ms);
        if tokio::time::timeout(within, self.graceful.shutdown()).await.is_ok() {
            return Served::Whole;
        }
        while self.connections.try_join_next().is_some() {}
        let left = self.connections.len();
        self.connections.shutdown().await;
        if left == 0 { Served::Whole } else { Served::BrokenOff(left) }
    }
}
