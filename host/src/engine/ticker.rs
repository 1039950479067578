//! Lets computing guests give way: counts the engine's epochs.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that counts epochs for as long as it is held; it does not keep the engine alive.
#[derive(Debug)]
pub(super) struct Ticker {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(super) fn start(engine: &wasmtime::Engine, interval: Duration) -> std::io::Result<Self> {
        let engine = engine.weak();
        let (stop, stopped) = mpsc::channel::<()>();
        let tick = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        };
        let thread = std::thread::Builder::new().name("bailiwick-epochs".to_owned()).spawn(tick)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It holds no lock and cannot panic; an error here has nobody to tell.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
