//! Which skills a turn is sent: resolved when it is written down, and then its own.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::super::database::{Changes, Row, places, sql};
use super::super::event::{Event, LogLevel};
use super::super::turn::TurnId;
use super::super::{Catalog, CatalogError};
use super::VersionId;
use crate::scope::{SessionId, WorkspaceId};

impl Catalog {
    /// The skills that a turn was sent, by their slugs, each once.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn skills_of(&self, turn: TurnId) -> Result<Vec<(String, VersionId)>, CatalogError> {
        let sent = "select slug, version_id from turn_skills
            join skill_versions on skill_versions.id = version_id
            where turn_id = $1 order by position";
        self.database.rows(sql(sent).bind(turn)).await?.all()
    }
}

/// What a turn that is being written down is sent.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Sending<'a> {
    /// Whose turn it is.
    pub(in super::super) session: SessionId,
    /// Whose platform it runs on.
    pub(in super::super) store: Uuid,
    /// What it is given beside its agent's: first.
    pub(in super::super) given: &'a [VersionId],
    /// The turn whose question it answers: what that was sent, it is sent as well, and not what its
    /// agent is given by now.
    pub(in super::super) resumes: Option<TurnId>,
}

/// A version that a turn may be sent.
struct Candidate {
    version: VersionId,
    slug: String,
    number: u64,
    is_reachable: bool,
}

impl Sending<'_> {
    /// Writes down what the turn is sent. What it is not, although it was to be, is told. Nobody
    /// drops what it is sent: it is locked until the turn is there to need it.
    pub(in super::super) async fn send(
        self,
        changes: &mut Changes,
        turn: TurnId,
    ) -> Result<Vec<Event>, CatalogError> {
        let mut candidates = Vec::new();
        for version in self.given {
            let given = "select id, slug, number from skill_versions where id = $1 for key share";
            let given = changes.rows(sql(given).bind(*version)).await?.first_by(candidate)?;
            candidates.push(given.ok_or(CatalogError::NoSkill)?);
        }
        candidates.extend(match self.resumes {
            Some(asked) => as_asked(changes, asked).await?,
            None => self.of_agent(changes).await?,
        });
        let mut slugs = BTreeSet::new();
        let mut told = Vec::new();
        candidates.retain(|candidate| {
            let is_sent = candidate.is_reachable && slugs.insert(candidate.slug.clone());
            if !is_sent {
                told.push(candidate.left_out());
            }
            is_sent
        });
        if !candidates.is_empty() {
            let insert = "insert into turn_skills (turn_id, position, version_id) values ";
            let insert = sql([insert, &places(candidates.len(), 3)].concat());
            let sent = candidates.iter().zip(1_u64..);
            let insert = sent.fold(insert, |insert, (candidate, position)| {
                insert.bind(turn).bind(position).bind(candidate.version)
            });
            changes.execute(insert).await?;
        }
        Ok(told)
    }

    async fn of_agent(self, changes: &mut Changes) -> Result<Vec<Candidate>, CatalogError> {
        let bound = "select versions.id, skills.slug, versions.number, skills.workspace_id,
                (select workspace_id from agents where agents.id = agent_skills.agent_id),
                (select platform_workspace_id from stores where stores.id = $2)
            from agent_skills join skills on skills.id = agent_skills.skill_id
            join skill_versions as versions on versions.skill_id = skills.id
                and versions.number = coalesce(agent_skills.number, skills.latest)
            where agent_skills.agent_id = (select agent_id from sessions where sessions.id = $1)
            order by agent_skills.position for key share";
        let bound = sql(bound).bind(self.session).bind(self.store);
        changes.rows(bound).await?.map(|row| {
            let owner: Option<WorkspaceId> = Some(row.at(3)?);
            let is_reachable = [row.at(4)?, row.at(5)?].contains(&owner);
            Ok(Candidate { is_reachable, ..candidate(row)? })
        })
    }
}

async fn as_asked(changes: &mut Changes, asked: TurnId) -> Result<Vec<Candidate>, CatalogError> {
    let sent = "select skill_versions.id, slug, number from turn_skills
        join skill_versions on skill_versions.id = version_id
        where turn_id = $1 order by position for key share";
    changes.rows(sql(sent).bind(asked)).await?.map(candidate)
}

fn candidate(row: &Row) -> Result<Candidate, CatalogError> {
    let (version, slug) = (row.at(0)?, row.at(1)?);
    Ok(Candidate { version, slug, number: row.at(2)?, is_reachable: true })
}

impl Candidate {
    fn left_out(&self) -> Event {
        let Self { slug, number, is_reachable, .. } = self;
        let message = if *is_reachable {
            format!(
                "of two skills called `{slug}` this turn reaches the one that was bound first, and not version {number} of the other"
            )
        } else {
            format!(
                "this turn does not reach the skill `{slug}` that its agent is given: it is not the platform's any more"
            )
        };
        Event::Logged { level: LogLevel::Warn, message }
    }
}
