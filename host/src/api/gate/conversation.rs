//! What a caller may do in a conversation: ask, answer, stop, and see what happens.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;

use super::desks::Wanted;
use super::find::Found;
use super::{Admitted, Door, Host, Needs, On, Right};
use crate::api::authority::Authority;
use crate::api::problem::Problem;
use crate::api::token::Caller;
use crate::catalog::{
    Cancelled, CatalogError, Enqueue, Firing, InvokedBy, Label, Made, Recorded, Resume, Turn,
    TurnId, Wakeup, WakeupId, Watch, When,
};
use crate::limits::TURN_RETRIES_MAX;
use crate::scope::{AgentId, SessionId};

/// To read a conversation: for who is in it. Whoever administers it sees that it is there.
#[derive(Debug)]
pub(in crate::api) enum Reading {}

impl Wanted for Reading {
    const RIGHT: Right = Right::ParticipantOr(&[Authority::SessionsRead]);
}

/// To take part in a conversation: for who is in it.
#[derive(Debug)]
pub(in crate::api) enum Talking {}

impl Wanted for Talking {
    const RIGHT: Right = Right::ParticipantOr(&[Authority::SessionsWrite]);
}

/// A conversation, for a caller who may do what `W` says.
#[derive(Debug)]
pub(in crate::api) struct Conversation<W> {
    pub(super) host: Host,
    caller: Caller,
    pub(super) found: Found,
    pub(super) agent: AgentId,
    pub(super) session: SessionId,
    wanted: PhantomData<W>,
}

impl<W: Wanted> Door for Conversation<W> {
    const NEEDS: Needs = Needs { on: On::Session, right: W::RIGHT };
}

impl<W: Wanted> FromRequestParts<Host> for Conversation<W> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, host: &Host) -> Result<Self, Problem> {
        let Admitted { caller, found } = host.admit(parts, Self::NEEDS).await?;
        let Found::Session { agent, session, .. } = found else {
            return Err(Problem::nothing_here());
        };
        let (host, wanted) = (host.clone(), PhantomData);
        Ok(Self { host, caller, found, agent, session, wanted })
    }
}

impl<W: Wanted> Conversation<W> {
    /// Turns after a position, in order.
    pub(in crate::api) async fn turns(&self, after: u64, limit: u32) -> Result<Vec<Turn>, Problem> {
        Ok(self.host.0.catalog.turns(self.session, after, limit).await?)
    }

    /// One turn of this conversation.
    pub(in crate::api) async fn turn(&self, turn: TurnId) -> Result<Turn, Problem> {
        let found = self.host.0.catalog.turn(turn).await?;
        let ours = found.filter(|turn| turn.session == self.session);
        ours.ok_or_else(Problem::nothing_here)
    }

    /// What a turn of this conversation asked of its hosts.
    pub(in crate::api) async fn invocations(
        &self,
        turn: TurnId,
    ) -> Result<Vec<InvokedBy>, Problem> {
        self.turn(turn).await?;
        Ok(self.host.0.catalog.invocations(turn).await?)
    }

    pub(in crate::api) async fn wakeups(&self) -> Result<Vec<Wakeup>, Problem> {
        Ok(self.host.0.catalog.wakeups(self.session).await?)
    }

    pub(in crate::api) async fn firings(&self, limit: u32) -> Result<Vec<Firing>, Problem> {
        Ok(self.host.0.catalog.firings(self.session, limit).await?)
    }
}

impl Conversation<Talking> {
    /// Queues a turn of the agent's component.
    pub(in crate::api) async fn ask(
        &self,
        input: &str,
        request: Option<&Label>,
    ) -> Result<Made<TurnId>, Problem> {
        let catalog = &self.host.0.catalog;
        let component = catalog.component_of(self.agent).await?;
        let component = component.ok_or(CatalogError::NoComponent)?;
        let retries = TURN_RETRIES_MAX;
        let session = self.session;
        let turn = Enqueue { session, component, input, retries, request };
        Ok(catalog.enqueue(turn).await?)
    }

    /// Queues the turn that goes on with an answer.
    pub(in crate::api) async fn answer(
        &self,
        question: TurnId,
        text: &str,
        request: Option<&Label>,
    ) -> Result<Made<TurnId>, Problem> {
        self.turn(question).await?;
        let resume = Resume { question, text, retries: TURN_RETRIES_MAX, request };
        Ok(self.host.0.catalog.resume(resume).await?)
    }

    /// Stops a turn.
    pub(in crate::api) async fn cancel(&self, turn: TurnId) -> Result<Cancelled, Problem> {
        self.turn(turn).await?;
        Ok(self.host.0.catalog.cancel(turn).await?)
    }

    /// What the clock says, in milliseconds since the Unix epoch.
    pub(in crate::api) fn now_ms(&self) -> u64 {
        self.host.0.verifier.now_ms()
    }

    pub(in crate::api) async fn wake(&self, when: &When, input: &str) -> Result<WakeupId, Problem> {
        Ok(self.host.0.catalog.add_wakeup(self.session, when, input).await?)
    }

    pub(in crate::api) async fn unwake(&self, wakeup: WakeupId) -> Result<(), Problem> {
        match self.host.0.catalog.remove_wakeup(self.session, wakeup).await? {
            true => Ok(()),
            false => Err(Problem::nothing_here()),
        }
    }
}

impl Conversation<Reading> {
    /// What happens from now on, and what happened after an event.
    pub(in crate::api) async fn follow(self, after: u64) -> Result<Follower, Problem> {
        let place = self.host.0.followers.clone().try_acquire_owned();
        let place = place.map_err(|_| Problem::busy())?;
        let watch = self.host.0.catalog.watch(self.session).await?;
        Ok(Follower { conversation: self, watch, after, _place: place })
    }
}

/// Reads the events of a conversation as they come, for as long as its caller may.
#[derive(Debug)]
pub(in crate::api) struct Follower {
    conversation: Conversation<Reading>,
    watch: Watch,
    after: u64,
    _place: OwnedSemaphorePermit,
}

/// Events that are read at once.
const EVENTS_AT_ONCE: u32 = 256;

impl Follower {
    /// The next events, in order; none after a while in which nothing happened.
    ///
    /// # Errors
    /// If the server comes to its end, or the caller may not see them any more: the token has
    /// expired or was revoked, the conversation is gone, or the caller is not in it.
    pub(in crate::api) async fn next(&mut self) -> Result<Vec<Recorded>, Problem> {
        let events = self.read().await?;
        if !events.is_empty() {
            return Ok(events);
        }
        let mut closing = self.conversation.host.0.closing.subscribe();
        let closing = async { drop(closing.wait_for(|closing| *closing).await) };
        tokio::select! {
            () = self.watch.changed() => {}
            () = closing => return Err(Problem::busy()),
        }
        self.read().await
    }

    /// Whether it may is asked right before each look, and not when the request came.
    async fn read(&mut self) -> Result<Vec<Recorded>, Problem> {
        let Conversation { host, caller, found, session, .. } = &self.conversation;
        host.admits_still(caller, *found, Conversation::<Reading>::NEEDS).await?;
        let events = host.0.catalog.events(*session, self.after, EVENTS_AT_ONCE).await?;
        self.after = events.last().map_or(self.after, |event| event.number);
        Ok(events)
    }
}
