//! The calls of one guest that are under way: bounded in number, in what they hold and in how
//! many are worked on, and worked on whether or not the guest waits for them.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

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
    /// What is done also where nobody waits for it any more.
    carried_out: Mutex<FuturesUnordered<Operation>>,
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
pub(in crate::engine) struct Started {
    _call: OwnedSemaphorePermit,
    _arguments: OwnedSemaphorePermit,
    _memory: HeldMemory,
}

/// What came of a call, with what it holds until the guest has it.
pub(in crate::engine) struct Done<T, E = Error> {
    pub(super) result: Result<T, E>,
    held: HeldAnswer,
}

/// What an answer takes up until the guest has it.
pub(in crate::engine) type HeldAnswer = Option<(OwnedSemaphorePermit, HeldMemory)>;

impl<T, E> Done<T, E> {
    /// What came of it, and what it holds.
    pub(in crate::engine) fn parts(self) -> (Result<T, E>, HeldAnswer) {
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
            carried_out: Mutex::default(),
            slots: Arc::new(Semaphore::new(slots)),
            started: Arc::new(Semaphore::new(calls_max)),
            argument_bytes: Arc::new(Semaphore::new(argument_bytes_max)),
            guest_memory,
            calls_max,
            argument_bytes_max,
        }))
    }

    /// What all guests of the host may hold.
    pub(in crate::engine) fn memory(&self) -> Arc<HostMemory> {
        self.0.guest_memory.clone()
    }

    /// Lets a call in, with so many bytes of arguments.
    ///
    /// # Errors
    /// `too-large` over a bound of the turn, `busy` over that of the host.
    pub(in crate::engine) fn start(&self, argument_bytes: usize) -> Result<Started, Error> {
        let inner = &self.0;
        let call = inner.started.clone().try_acquire_owned().map_err(|_| self.too_many())?;
        let bytes = u32::try_from(argument_bytes).map_err(|_| self.too_much())?;
        let arguments = inner.argument_bytes.clone().try_acquire_many_owned(bytes);
        let arguments = arguments.map_err(|_| self.too_much())?;
        let memory = self.hold(argument_bytes.saturating_add(CALL_BYTES))?;
        Ok(Started { _call: call, _arguments: arguments, _memory: memory })
    }

    /// Takes bytes of what all guests of the host may hold.
    pub(in crate::engine) fn hold(&self, bytes: usize) -> Result<HeldMemory, Error> {
        self.0.guest_memory.hold(bytes).ok_or_else(Error::busy)
    }

    /// Works on a call as soon as others of the turn leave room. The answer, at most so many
    /// bytes, takes up that room until it is received: a guest that takes no answers is given
    /// no more of them.
    pub(in crate::engine) fn run<T, E>(
        &self,
        started: Started,
        answer_bytes: usize,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> oneshot::Receiver<Done<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.begin(self.in_turn(started, answer_bytes, work))
    }

    /// As [`Self::run`], but what was begun is done, whether or not anybody waits for it: there are
    /// changes of which half is nothing to go on from.
    pub(in crate::engine) fn carry_out<T, E>(
        &self,
        started: Started,
        answer_bytes: usize,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> oneshot::Receiver<Done<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let work = self.in_turn(started, answer_bytes, work);
        let (answer, answered) = oneshot::channel();
        self.tidy(async move {
            // Nobody has to wait.
            let _ = answer.send(work.await);
        });
        answered
    }

    /// Does what a guest's call left to be done, beside those that are worked on; nothing once the
    /// turn is over.
    pub(in crate::engine) fn tidy(&self, work: impl Future<Output = ()> + Send + 'static) {
        if self.0.slots.is_closed() {
            return;
        }
        let mut operation: Operation = Box::pin(work);
        let mut context = Context::from_waker(Waker::noop());
        if operation.as_mut().poll(&mut context).is_pending() {
            locked(&self.0.carried_out).push(operation);
        }
    }

    /// The work of a call, once others of the turn leave room.
    fn in_turn<T, E, W>(
        &self,
        started: Started,
        answer_bytes: usize,
        work: W,
    ) -> impl Future<Output = Done<T, E>> + Send + 'static + use<T, E, W>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        W: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (slots, memory) = (self.0.slots.clone(), self.0.guest_memory.clone());
        async move {
            let _started = started;
            let held = slots.acquire_owned().await.ok().zip(memory.hold(answer_bytes));
            match held {
                Some(held) => Done { result: work.await, held: Some(held) },
                None => Done { result: Err(Error::busy().into()), held: None },
            }
        }
    }

    /// Works on a part of a stream. What comes of it is bounded by the stream, and takes up no
    /// room that calls need.
    pub(in crate::engine) fn run_part<T: Send + 'static>(
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
            locked(&self.0.running).push(operation);
        }
        answered
    }

    /// Goes on with everything that is under way.
    pub(super) fn poll(&self, context: &mut Context<'_>) {
        let mut running = locked(&self.0.running);
        while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
        drop(running);
        let mut carried_out = locked(&self.0.carried_out);
        while let Poll::Ready(Some(())) = carried_out.poll_next_unpin(context) {}
    }

    /// From now on nothing more is begun.
    pub(in crate::engine) fn close(&self) {
        self.0.slots.close();
    }

    /// Ends everything: what is to be carried out is done as far as it was begun, until then.
    pub(in crate::engine) async fn end(&self, until: Instant) {
        locked(&self.0.running).clear();
        // What waits for room is given up.
        self.close();
        let done = poll_fn(|context| {
            let mut carried_out = locked(&self.0.carried_out);
            while let Poll::Ready(Some(())) = carried_out.poll_next_unpin(context) {}
            if carried_out.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        });
        if timeout_at(until, done).await.is_err() {
            locked(&self.0.carried_out).clear();
        }
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

fn locked(
    operations: &Mutex<FuturesUnordered<Operation>>,
) -> MutexGuard<'_, FuturesUnordered<Operation>> {
    operations.lock().unwrap_or_else(PoisonError::into_inner)
}
