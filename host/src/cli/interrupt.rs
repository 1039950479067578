use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit;
use super::failure::Failure;

/// Ctrl-C, and what `kill` sends, once somebody listens.
#[derive(Debug)]
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::because("Ctrl-C cannot be caught", &error))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Lets the next one end the process at once. For when nothing is left to be lost.
    pub(super) fn end_the_process(mut self) {
        tokio::spawn(async move {
            self.next().await;
            std::process::exit(i32::from(exit::CANCELLED));
        });
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
