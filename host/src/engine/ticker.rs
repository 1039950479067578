//! Lets computing guests give way: counts the epochs of engines.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that counts epochs for as long as it is held; it does not keep an engine alive.
pub(super) struct Ticker {
    engines: Engines,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Engines = Arc<Mutex<Vec<wasmtime::EngineWeak>>>;

impl Ticker {
    pub(super) fn start(interval: Duration) -> std::io::Result<Self> {
        let engines = Engines::default();
        let ticked = engines.clone();
        let (stop, stopped) = mpsc::channel::<()>();
        let tick = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                for engine in locked(&ticked).iter().filter_map(wasmtime::EngineWeak::upgrade) {
                    engine.increment_epoch();
                }
            }
        };
        let thread = std::thread::Builder::new().name("bailiwick-epochs".to_owned()).spawn(tick)?;
        Ok(Self { engines, stop: Some(stop), thread: Some(thread) })
    }

    /// Counts the epochs of this engine too, from now on.
    pub(super) fn tick(&self, engine: &wasmtime::Engine) {
        locked(&self.engines).push(engine.weak());
    }
}

fn locked(engines: &Engines) -> std::sync::MutexGuard<'_, Vec<wasmtime::EngineWeak>> {
    engines.lock().unwrap_or_else(PoisonError::into_inner)
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
