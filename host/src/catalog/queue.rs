//! What others do with turns: queue them, answer their questions, stop them.

use uuid::Uuid;

use super::database::{Changes, Statement, sql};
use super::ending::drop_components_of;
use super::events::{Entry, record};
use super::expiry::seal;
use super::keeping::open_for_turns;
use super::questions::keep_question;
use super::session::{lock, lock_of};
use super::skills::Sending;
use super::turn::{Failure, Lease, TurnId, TurnState};
use super::turns::attempt_at;
use super::watch::Topic;
use super::{Catalog, CatalogError, Event, Label, Made, new_id};
use crate::limits::{SESSION_QUEUED_MAX, TURN_TEXT_BYTES_MAX};
use crate::scope::{SessionId, Sha256};

/// A turn to queue.
#[derive(Clone, Copy, Debug)]
pub struct Enqueue<'a> {
    /// Whose turn it is.
    pub session: SessionId,
    /// The component that is to run; it has to be kept: see [`Catalog::upload_component`].
    pub component: Sha256,
    /// What the caller sends.
    pub input: &'a str,
    /// How often it may be tried again after its host died.
    pub retries: u32,
    /// What the caller names the request by: asked twice, it is queued once.
    pub request: Option<&'a Label>,
}

/// An answer to queue, which resumes the turn that asked.
#[derive(Clone, Copy, Debug)]
pub struct Resume<'a> {
    /// The turn that asked.
    pub question: TurnId,
    /// What the person said.
    pub text: &'a str,
    /// How often it may be tried again after its host died.
    pub retries: u32,
    /// What the caller names the request by: asked twice, it is queued once.
    pub request: Option<&'a Label>,
}

/// What a cancellation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is over: it waited to be run, or for an answer.
    Ended,
    /// It runs, and its host learns that it is to stop.
    Asked,
    /// It was over before.
    Over,
}

impl Catalog {
    /// Queues a turn behind those of its session that are there already, with the skills that its
    /// agent is given now.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`] for an input or an answer over 4 MiB;
    /// [`CatalogError::QueueFull`]; [`CatalogError::NoComponent`];
    /// [`CatalogError::RequestReused`] if another turn was queued under the request's name;
    /// [`CatalogError::Closed`]; [`CatalogError::Swept`] or [`CatalogError::Deleted`] if the session
    /// is gone; [`CatalogError::Unavailable`].
    pub async fn enqueue(&self, turn: Enqueue<'_>) -> Result<Made<TurnId>, CatalogError> {
        self.undone.retried(|| self.try_enqueue(turn)).await
    }

    async fn try_enqueue(&self, turn: Enqueue<'_>) -> Result<Made<TurnId>, CatalogError> {
        let mut changes = self.begin().await?;
        lock(&mut changes, turn.session).await?;
        if let Some(earlier) = requested(&mut changes, turn.session, turn.request).await? {
            let is_same = earlier.component == turn.component
                && earlier.input == turn.input
                && earlier.answer.is_none();
            return earlier.if_same(is_same);
        }
        let new = New {
            session: turn.session,
            resumes: None,
            attempt: 1,
            component: turn.component,
            input: turn.input,
            answer: None,
            store: self.store,
            retries: turn.retries,
            request: turn.request,
        };
        let made = new.queue(&mut changes, self.now()).await?;
        self.commit(changes).await?;
        Ok(Made::New(made))
    }

    /// Answers a question: queues a turn that resumes the one that asked, before all others of the
    /// session, with the component and the skills of that one. The question stays open until that
    /// turn ends well; if it fails, the question can be answered again.
    ///
    /// # Errors
    /// [`CatalogError::NoQuestion`] if that turn waits for no answer;
    /// [`CatalogError::AlreadyAnswered`]; and as [`Self::enqueue`].
    pub async fn resume(&self, answer: Resume<'_>) -> Result<Made<TurnId>, CatalogError> {
        self.undone.retried(|| self.try_resume(answer)).await
    }

    async fn try_resume(&self, answer: Resume<'_>) -> Result<Made<TurnId>, CatalogError> {
        let mut changes = self.begin().await?;
        lock_of(&mut changes, answer.question).await?;
        let asked = "select session_id, component, input from turns where id = $1";
        let asked = changes.rows(sql(asked).bind(answer.question)).await?.first()?;
        let (session, component, input): (_, _, String) = asked.ok_or(CatalogError::NoQuestion)?;
        if let Some(earlier) = requested(&mut changes, session, answer.request).await? {
            let is_same = earlier.resumes == Some(answer.question)
                && earlier.answer.as_deref() == Some(answer.text);
            return earlier.if_same(is_same);
        }
        let new = New {
            session,
            resumes: Some(answer.question),
            attempt: attempt_at(&mut changes, session, answer.question).await?,
            component,
            input: &input,
            answer: Some(answer.text),
            store: self.store,
            retries: answer.retries,
            request: answer.request,
        };
        let made = new.queue(&mut changes, self.now()).await?;
        self.commit(changes).await?;
        Ok(Made::New(made))
    }

    /// Stops a turn. One that is queued or waits for an answer ends as cancelled; one that runs
    /// is asked to: its host learns it when it renews the lease, and if it is dead, the turn ends
    /// as cancelled and is not tried again. With a question, its answer is stopped as well.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if there is no such turn; [`CatalogError::Unavailable`].
    pub async fn cancel(&self, turn: TurnId) -> Result<Cancelled, CatalogError> {
        self.undone.retried(|| self.try_cancel(turn)).await
    }

    async fn try_cancel(&self, turn: TurnId) -> Result<Cancelled, CatalogError> {
        let mut changes = self.begin().await?;
        lock_of(&mut changes, turn).await?;
        let found = "select id, attempt, state from turns where id = $1
            or (resumes_id = $1 and state in ('queued', 'running')) order by position";
        let found: Vec<(TurnId, u32, String)> = changes.rows(sql(found).bind(turn)).await?.all()?;
        let now = self.now();
        let (mut outcome, mut ended) = (Cancelled::Over, Vec::new());
        for (turn, attempt, state) in &found {
            let lease = Lease { turn: *turn, attempt: *attempt };
            match TurnState::parse(state)? {
                TurnState::Running => {
                    ask_to_stop(&mut changes, *turn, now).await?;
                    changes.tell(Topic::Stop(*turn));
                    outcome = Cancelled::Asked;
                }
                TurnState::Queued | TurnState::Parked => ended.push(lease),
                TurnState::Done | TurnState::Failed => {}
            }
        }
        if found.is_empty() {
            return Err(CatalogError::Deleted);
        }
        // A question is not closed under a host that works on its answer.
        if outcome == Cancelled::Over && !ended.is_empty() {
            end(&mut changes, turn, &ended, now).await?;
            outcome = Cancelled::Ended;
        }
        self.commit(changes).await?;
        Ok(outcome)
    }
}

async fn ask_to_stop(changes: &mut Changes, turn: TurnId, now: i64) -> Result<(), CatalogError> {
    let ask = "update turns set cancel_ms = coalesce(cancel_ms, $2) where id = $1";
    changes.execute(sql(ask).bind(turn).bind(now)).await?;
    Ok(())
}

async fn end(
    changes: &mut Changes,
    turn: TurnId,
    ended: &[Lease],
    now: i64,
) -> Result<(), CatalogError> {
    for lease in ended {
        // What was said was said by the attempt before, if there was one.
        let said_by = Lease { attempt: lease.attempt.saturating_sub(1), ..*lease };
        seal(changes, said_by, Failure::Cancelled, "the turn was cancelled", now).await?;
        keep_question(changes, lease.turn, None, now).await?;
    }
    let failed = Event::State(TurnState::Failed);
    let entries: Vec<Entry<'_>> = ended.iter().map(|lease| (*lease, &failed)).collect();
    record(changes, turn, &entries, now).await?;
    drop_components_of(changes, turn).await
}

/// What was queued under a request's name.
struct Earlier {
    turn: TurnId,
    component: Sha256,
    input: String,
    answer: Option<String>,
    resumes: Option<TurnId>,
}

impl Earlier {
    fn if_same(self, is_same: bool) -> Result<Made<TurnId>, CatalogError> {
        if is_same { Ok(Made::Found(self.turn)) } else { Err(CatalogError::RequestReused) }
    }
}

async fn requested(
    changes: &mut Changes,
    session: SessionId,
    request: Option<&Label>,
) -> Result<Option<Earlier>, CatalogError> {
    let Some(request) = request else { return Ok(None) };
    let earlier = "select id, component, input, answer, resumes_id from turns
        where session_id = $1 and request = $2";
    let earlier = sql(earlier).bind(session).bind(request.as_str());
    let found = changes.rows(earlier).await?.first()?;
    Ok(found.map(|(turn, component, input, answer, resumes)| Earlier {
        turn,
        component,
        input,
        answer,
        resumes,
    }))
}

/// Refuses a text that is longer than it may be.
pub(super) fn bounded(text: Option<&str>, bytes_max: usize) -> Result<(), CatalogError> {
    match text {
        Some(text) if text.len() > bytes_max => Err(CatalogError::TooLarge { bytes_max }),
        _ => Ok(()),
    }
}

/// A turn as it is queued.
pub(super) struct New<'a> {
    pub(super) session: SessionId,
    pub(super) resumes: Option<TurnId>,
    pub(super) attempt: u32,
    pub(super) component: Sha256,
    pub(super) input: &'a str,
    pub(super) answer: Option<&'a str>,
    pub(super) store: Uuid,
    pub(super) retries: u32,
    pub(super) request: Option<&'a Label>,
}

impl New<'_> {
    /// Queues it in a session that is locked. Its component is locked too, so that nobody drops
    /// it meanwhile.
    pub(super) async fn queue(
        self,
        changes: &mut Changes,
        now: i64,
    ) -> Result<TurnId, CatalogError> {
        bounded(Some(self.input), TURN_TEXT_BYTES_MAX)?;
        bounded(self.answer, TURN_TEXT_BYTES_MAX)?;
        if open_for_turns(changes, self.session).await? >= SESSION_QUEUED_MAX {
            return Err(CatalogError::QueueFull);
        }
        let kept = "select sha256 from components where sha256 = $1 for key share";
        let kept: Option<(Sha256,)> =
            changes.rows(sql(kept).bind(self.component)).await?.first()?;
        kept.ok_or(CatalogError::NoComponent)?;
        let lease = Lease { turn: TurnId(new_id()), attempt: self.attempt };
        changes.execute(self.insert(lease, now)).await?;
        let Self { session, store, resumes, .. } = self;
        let sending = Sending { session, store, given: &[], resumes };
        let told = sending.send(changes, lease.turn).await?;
        let queued = Event::State(TurnState::Queued);
        let entries: Vec<Entry<'_>> =
            std::iter::once(&queued).chain(&told).map(|event| (lease, event)).collect();
        record(changes, lease.turn, &entries, now).await?;
        Ok(lease.turn)
    }

    fn insert(&self, lease: Lease, now: i64) -> Statement<'_> {
        sql("insert into turns (id, session_id, resumes_id, state, attempt, component, input,
                answer, retries, request, queued_ms, due_ms, position)
            values ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, $10,
                (select coalesce(max(position), 0) + 1 from turns where session_id = $2))")
        .bind(lease.turn)
        .bind(self.session)
        .bind(self.resumes)
        .bind(lease.attempt)
        .bind(self.component)
        .bind(self.input)
        .bind(self.answer)
        .bind(self.retries)
        .bind(self.request.map(Label::as_str))
        .bind(now)
    }
}
