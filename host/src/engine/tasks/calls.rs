//! The calls of one guest that are under way: bounded in number, in what they hold and in how
//! many are worked on, and worked on whether or not the guest waits for them.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::engine::limiter::{HeldMemory, HostMemory};
use crate::limits::Limits;
use crate::space::{Error, ErrorCode};

/// What one call takes of the host beside its arguments and its answer, in bytes, and generously.
const CALL_BYTES: usize = 8 << 10;

/// The calls of one turn; clones are the same ones.
#[derive(Clone)]
pub(in crate::engine) struct Calls(Arc<Inner>);

struct Inner {
    running: Mutex<FuturesUnordered<Operation>>,
    /// One for each call that is worked on, or whose answer the guest has not taken yet.
    slots: Arc<Semaphore>,
    started: Arc<Semaphore>,
    argument_bytes: Arc<Semaphore>,
    guest_memory: Arc<HostMemory>,
    calls_max: usize,
    argument_bytes_max: usize,
}

type Operation = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A call that was let in; held until its work is done, or given up.
pub(super) struct Started {
    _call: OwnedSemaphorePermit,
    _arguments: OwnedSemaphorePermit,
    _memory: HeldMemory,
}

/// What came of a call, with what it holds until the guest has it.
pub(super) struct Done<T> {
    pub(super) result: Result<T, Error>,
    held: HeldAnswer,
}

/// What an answer takes up until the guest has it.
pub(super) type HeldAnswer = Option<(OwnedSemaphorePermit, HeldMemory)>;

impl<T> Done<T> {
    /// What came of it, and what it holds.
    pub(super) fn parts(self) -> (Result<T, Error>, HeldAnswer) {
        (self.result, self.held)
    }
}

impl Calls {
    pub(in crate::engine) fn new(limits: &Limits, guest_memory: Arc<HostMemory>) -> Self {
        let calls_max = limits.turn_calls_max.min(Semaphore::MAX_PERMITS);
        let argument_bytes_max = limits.turn_call_bytes_max.min(Semaphore::MAX_PERMITS);
        let slots = limits.turn_operations_max.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner {
            running: Mutex::default(),
            slots: Arc::new(Semaphore::new(slots)),
            started: Arc::new(Semaphore::new(calls_max)),
            argument_bytes: Arc::new(Semaphore::new(argument_bytes_max)),
            guest_memory,
            calls_max,
            argument_bytes_max,
        }))
    }

    /// Lets a call in, with so many bytes of arguments.
    ///
    /// # Errors
    /// `too-large` over a bound of the turn, `busy` over that of the host.
    pub(super) fn start(&self, argument_bytes: usize) -> Result<Started, Error> {
        let inner = &self.0;
        let call = inner.started.clone().try_acquire_owned().map_err(|_| self.too_many())?;
        let bytes = u32::try_from(argument_bytes).map_err(|_| self.too_much())?;
        let arguments = inner.argument_bytes.clone().try_acquire_many_owned(bytes);
        let arguments = arguments.map_err(|_| self.too_much())?;
        let memory = self.hold(argument_bytes.saturating_add(CALL_BYTES))?;
        Ok(Started { _call: call, _arguments: arguments, _memory: memory })
    }

    /// Takes bytes of what all guests of the host may hold.
    pub(super) fn hold(&self, bytes: usize) -> Result<HeldMemory, Error> {
        self.0.guest_memory.hold(bytes).ok_or_else(Error::busy)
    }

    /// Works on a call as soon as others of the turn leave room. The answer, at most so many
    /// bytes, takes up that room until it is received: a guest that takes no answers is given
    /// no more of them.
    pub(super) fn run<T: Send + 'static>(
        &self,
        started: Started,
        answer_bytes: usize,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> oneshot::Receiver<Done<T>> {
        let (slots, memory) = (self.0.slots.clone(), self.0.guest_memory.clone());
        self.begin(async move {
            let _started = started;
            let held = slots.acquire_owned().await.ok().zip(memory.hold(answer_bytes));
            match held {
                Some(held) => Done { result: work.await, held: Some(held) },
                None => Done { result: Err(Error::busy()), held: None },
            }
        })
    }

    /// Works on a part of a stream. What comes of it is bounded by the stream, and takes up no
    /// room that calls need.
    pub(super) fn run_part<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let slots = self.0.slots.clone();
        self.begin(async move {
            let _slot = slots.acquire_owned().await;
            work.await
        })
    }

    /// Begins work, which ends early if nobody waits for it any more. What ends at once has
    /// ended when this returns.
    fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (mut answer, answered) = oneshot::channel();
        let mut operation: Operation = Box::pin(async move {
            let result = tokio::select! {
                biased;
                result = work => result,
                () = answer.closed() => return,
            };
            let _ = answer.send(result);
        });
        let mut context = Context::from_waker(Waker::noop());
        if operation.as_mut().poll(&mut context).is_pending() {
            self.running().push(operation);
        }
        answered
    }

    /// Goes on with everything that is under way.
    pub(super) fn poll(&self, context: &mut Context<'_>) {
        let mut running = self.running();
        while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
    }

    fn running(&self) -> MutexGuard<'_, FuturesUnordered<Operation>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn too_many(&self) -> Error {
        let max = self.0.calls_max;
        let message = format!("at most {max} calls of a turn are under way at once: await some");
        Error::new(ErrorCode::TooLarge, "calls", message)
    }

    fn too_much(&self) -> Error {
        let max = self.0.argument_bytes_max;
        let message = format!(
            "the calls of a turn that are under way hold at most {max} bytes of arguments: await some"
        );
        Error::new(ErrorCode::TooLarge, "calls", message)
    }
}
