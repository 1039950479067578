//! Erasures: deleting what was asked, and proving it by a deadline. The sweeper of
//! [`crate::retention`] empties the store; this goes from what was asked to what is owed, and from
//! what was proved to a receipt.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::catalog::{
    Blocked, Catalog, CatalogError, DeletionRecord, Erasure, ErasureId, ErasurePart, Left, Reason,
    Removable, Removal,
};
use crate::clock::Clock;
use crate::limits::{ERASURE_WARNED_AGAIN_MS, ERASURE_WARNED_MS, Limits, RECEIPT_PROMOTIONS_MAX};
use crate::proofs::{Asked, Done, LivesOn, NOT_KNOWN, Proved, Receipt, ReceiptKey, SignedReceipt};
use crate::scope::{AgentId, Deletion, WorkspaceId};
use crate::settings::{Effective, Hold, Settings};
use crate::space::Emptied;
use crate::store::Layer;

/// Who is told how far erasures are.
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// How many are not proved; of those, how many must be soon; and how many should have been.
    fn erasures(&self, open: u64, near: u64, late: u64);
}

/// Nobody is told.
impl Observer for () {
    fn erasures(&self, _: u64, _: u64, _: u64) {}
}

/// Works on the erasures of one store. Any number may at once, here and elsewhere.
#[derive(Clone, Debug)]
pub struct Eraser {
    catalog: Catalog,
    key: ReceiptKey,
    limits: Limits,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    /// What the log was told of last of each that is not proved, and when.
    told: Arc<Mutex<BTreeMap<ErasureId, (Urgency, u64)>>>,
}

/// How urgent an erasure is that is not proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    None,
    Near,
    Late,
}

impl Urgency {
    fn of(deadline_ms: u64, now_ms: u64) -> Self {
        if now_ms >= deadline_ms {
            Self::Late
        } else if now_ms.saturating_add(ERASURE_WARNED_MS) >= deadline_ms {
            Self::Near
        } else {
            Self::None
        }
    }
}

/// How an erasure stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    Proved,
}

impl Eraser {
    /// One that signs receipts with `key`.
    pub fn new(
        catalog: Catalog,
        key: ReceiptKey,
        limits: Limits,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        Self { catalog, key, limits, clock, observer, told: Arc::default() }
    }

    /// Goes on with every erasure that is not proved, as far as it can now; how many are not
    /// proved after it. What fails is logged, and tried again by a later tick.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`] if it is not known which there are.
    pub async fn tick(&self) -> Result<u64, CatalogError> {
        let (mut open, mut near, mut late) = (0, 0, 0);
        for erasure in self.catalog.open_erasures().await? {
            let (id, deadline_ms) = (erasure.id, erasure.deadline_ms);
            match self.go_on(&erasure).await {
                Ok(Standing::Proved) => {
                    self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                    continue;
                }
                Ok(Standing::Open) => {}
                Err(error) => {
                    let error = format!("{:#}", anyhow::Error::from(error));
                    tracing::warn!(%id, error, "an erasure did not go on; it is tried again");
                }
            }
            open += 1;
            let urgency = Urgency::of(deadline_ms, self.clock.now_ms());
            near += u64::from(urgency == Urgency::Near);
            late += u64::from(urgency == Urgency::Late);
            self.warn(&erasure, urgency);
        }
        self.observer.erasures(open, near, late);
        Ok(open)
    }

    /// Tells the log of what is urgent, when it becomes so and every hour from then on.
    fn warn(&self, erasure: &Erasure, urgency: Urgency) {
        let (id, deadline_ms, now_ms) = (erasure.id, erasure.deadline_ms, self.clock.now_ms());
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let last = told.get(&id).filter(|(before, _)| *before == urgency);
        if last.is_some_and(|(_, at_ms)| now_ms < at_ms.saturating_add(ERASURE_WARNED_AGAIN_MS)) {
            return;
        }
        told.insert(id, (urgency, now_ms));
        let blocked = erasure.blocked.map(Blocked::as_str);
        match urgency {
            Urgency::None => {}
            Urgency::Near => {
                tracing::warn!(%id, deadline_ms, blocked, "the deadline of an erasure is near, and it is not proved");
            }
            Urgency::Late => {
                tracing::error!(%id, deadline_ms, blocked, "an erasure is past its deadline, and not proved");
            }
        }
    }

    async fn go_on(&self, erasure: &Erasure) -> Result<Standing, CatalogError> {
        if erasure.gone_ms.is_none() {
            let blocked = self.delete(erasure).await?;
            if blocked != erasure.blocked {
                self.catalog.note_erasure_blocked(erasure.id, blocked).await?;
            }
            if blocked.is_some() {
                return Ok(Standing::Open);
            }
            self.catalog.note_erasure_gone(erasure.id).await?;
        }
        let parts = self.catalog.erasure_parts(erasure.id).await?;
        let proved = parts.iter().map(done).collect::<Option<Vec<_>>>();
        let Some(proved) = proved else { return Ok(Standing::Open) };
        self.settle(erasure, proved).await?;
        Ok(Standing::Proved)
    }

    /// Deletes all of it, or says what stands in the way.
    async fn delete(&self, erasure: &Erasure) -> Result<Option<Blocked>, CatalogError> {
        let is_held = match &erasure.subject {
            None => self.is_held(Deletion::Workspace(erasure.workspace)).await?,
            Some(_) => self.holds(erasure.workspace, None).await?,
        };
        if is_held {
            return Ok(Some(Blocked::Held));
        }
        for turn in self.catalog.name_erased(erasure).await? {
            match self.catalog.cancel(turn).await {
                Ok(_) | Err(CatalogError::Deleted) => {}
                Err(error) => return Err(error),
            }
        }
        let mut blocked = None;
        for ErasurePart { what, deletion } in self.catalog.erasure_parts(erasure.id).await? {
            if deletion.is_some() {
                continue;
            }
            let stands = match self.is_held(what).await? {
                true => Some(Blocked::Held),
                false => self.remove(erasure, what).await?,
            };
            // A hold is for a person to lift; a turn ends by itself.
            blocked = if blocked == Some(Blocked::Held) { blocked } else { stands.or(blocked) };
        }
        Ok(self.forget_questions(erasure).await?.or(blocked))
    }

    /// Forgets what the subject was asked in sessions that went before, and are no part of it; or
    /// says what stands in the way.
    async fn forget_questions(&self, erasure: &Erasure) -> Result<Option<Blocked>, CatalogError> {
        let Some(subject) = &erasure.subject else { return Ok(None) };
        let mut blocked = None;
        let workspace = erasure.workspace;
        for agent in self.catalog.agents_with_questions_of(workspace, subject).await? {
            if self.is_held(Deletion::Agent(workspace, agent)).await? {
                blocked = Some(Blocked::Held);
                continue;
            }
            let of = (workspace, agent);
            while let Left::More(_) = self.catalog.forget_questions_of(of, subject).await? {}
        }
        Ok(blocked)
    }

    async fn remove(
        &self,
        erasure: &Erasure,
        what: Deletion,
    ) -> Result<Option<Blocked>, CatalogError> {
        let removal = Removal { why: Reason::Erased, by: erasure.by.as_ref() };
        let what = match what {
            Deletion::Workspace(workspace) => Removable::Workspace(workspace),
            Deletion::Agent(_, agent) => Removable::Agent(agent),
            Deletion::Session(_, _, session) => Removable::Session(session),
        };
        match self.catalog.remove(what, removal).await {
            Ok(()) | Err(CatalogError::Deleted | CatalogError::Swept) => Ok(None),
            Err(CatalogError::Held) => Ok(Some(Blocked::Held)),
            Err(CatalogError::InUse { .. }) => Ok(Some(Blocked::Running)),
            Err(error) => Err(error),
        }
    }

    /// Whether settings hold anything of what is to go.
    async fn is_held(&self, what: Deletion) -> Result<bool, CatalogError> {
        match what {
            Deletion::Session(workspace, agent, _) | Deletion::Agent(workspace, agent) => {
                self.holds(workspace, Some(agent)).await
            }
            Deletion::Workspace(workspace) => {
                let agents = self.catalog.settings_of_agents(workspace).await?;
                let says = |said| {
                    let hold = Settings::read(said).retention_hold;
                    [hold.value, hold.cap].contains(&Some(Hold::Held))
                };
                Ok(agents.iter().any(says) || self.holds(workspace, None).await?)
            }
        }
    }

    async fn holds(
        &self,
        workspace: WorkspaceId,
        agent: Option<AgentId>,
    ) -> Result<bool, CatalogError> {
        let said = self.catalog.cascade(workspace, agent).await?;
        let effective = Effective::read(&self.limits, said.levels());
        Ok(effective.retention_hold.value == Hold::Held)
    }

    /// Writes the receipt of what is proved, once, whoever else is at it.
    async fn settle(
        &self,
        erasure: &Erasure,
        proved: Vec<(Done, Vec<Layer>)>,
    ) -> Result<(), CatalogError> {
        let hash = erasure.subject.as_ref().map(|subject| self.key.hash(subject.as_str()));
        let mut unpromised = unseen(proved.iter().flat_map(|(_, layers)| layers));
        if let Some(subject) = &erasure.subject {
            let unknown =
                self.catalog.sessions_of_unknown_opener(erasure.workspace, subject).await?;
            if unknown > 0 {
                unpromised.push(format!(
                    "who opened {unknown} sessions in which the subject takes part is not on record: they are not among what was deleted"
                ));
            }
        }
        let promoted = self.catalog.promoted_of_erased(erasure.id).await?;
        let most = usize::try_from(RECEIPT_PROMOTIONS_MAX).unwrap_or(usize::MAX);
        let promoted_cut = promoted.len() > most;
        let lives_on = promoted.into_iter().take(most).map(|copy| LivesOn {
            agent: copy.agent.to_string(),
            path: copy.target,
            revision: copy.revision.unwrap_or_else(|| NOT_KNOWN.to_owned()),
            at_ms: copy.at_ms,
        });
        let receipt = Receipt::new(Proved {
            erasure: erasure.id.to_string(),
            asked: Asked {
                workspace: erasure.workspace.to_string(),
                subject: hash.clone(),
                by: erasure.by.as_ref().map(|by| self.key.hash(by.as_str())),
                at_ms: erasure.asked_ms,
                deadline_ms: erasure.deadline_ms,
            },
            deletions: proved.into_iter().map(|(done, _)| done).collect(),
            promoted: lives_on.collect(),
            promoted_cut,
            unpromised,
        });
        let text = SignedReceipt::sign(receipt, &self.key).to_text();
        if self.catalog.settle_erasure(erasure, &text, hash.as_deref()).await? {
            tracing::info!(id = %erasure.id, "an erasure is proved");
        }
        Ok(())
    }
}

/// What was removed of a part, once it is proved; and what nobody could see.
fn done(part: &ErasurePart) -> Option<(Done, Vec<Layer>)> {
    let record: &DeletionRecord = part.deletion.as_ref()?;
    let proved_ms = record.proved_ms?;
    let emptied: Emptied = match &record.emptied {
        Some(text) => serde_json::from_str(text).ok()?,
        None => Emptied {
            files: record.removed.files,
            bytes: record.removed.bytes,
            ..Emptied::default()
        },
    };
    let (what, id) = match record.deletion {
        Deletion::Workspace(workspace) => ("workspace", workspace.to_string()),
        Deletion::Agent(_, agent) => ("agent", agent.to_string()),
        Deletion::Session(_, _, session) => ("session", session.to_string()),
    };
    let done = Done {
        what: what.to_owned(),
        id,
        deleted_ms: record.deleted_ms,
        proved_ms,
        files: emptied.files,
        bytes: emptied.bytes,
        versions: emptied.versions,
        markers: emptied.markers,
        uploads: emptied.uploads,
        pages: emptied.pages,
        digest: emptied.digest.to_string(),
        resumed: emptied.resumed,
    };
    Some((done, emptied.unseen))
}

/// What it means that layers could not be seen, each said once.
fn unseen<'a>(layers: impl Iterator<Item = &'a Layer>) -> Vec<String> {
    let mut layers: Vec<_> = layers.copied().collect();
    layers.sort_unstable();
    layers.dedup();
    layers.into_iter().map(|layer| layer.unpromised().to_owned()).collect()
}
