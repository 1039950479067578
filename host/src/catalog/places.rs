use uuid::Uuid;

use super::database::{Column, Row, Statement, sql};
use super::turn::TurnState;
use super::{Catalog, CatalogError, Label, Name, new_id};
use crate::limits::{CATALOG_PAGE_ROWS_MAX, LISTED_TEXT_CHARACTERS_MAX};
use crate::scope::{AgentId, SessionId, Slug, WorkspaceId};

/// What kind of thing a person gave a name to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// Agents and what they share.
    Workspace,
    /// One agent of a workspace.
    Agent,
    /// One conversation with an agent.
    Session,
}

/// What was asked for by name: there already, or made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made<I> {
    /// It was there.
    Found(I),
    /// It was made.
    New(I),
}

impl<I> Made<I> {
    /// Which one it is.
    pub fn id(self) -> I {
        match self {
            Self::Found(id) | Self::New(id) => id,
        }
    }

    fn map<J>(self, make: impl FnOnce(I) -> J) -> Made<J> {
        match self {
            Self::Found(id) => Made::Found(make(id)),
            Self::New(id) => Made::New(make(id)),
        }
    }
}

/// Which part of a list, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    after: &'a str,
    limit: u32,
}

impl<'a> Page<'a> {
    /// The whole list, for who asks of his own accord.
    pub const ALL: Page<'static> = Page { after: "", limit: u32::MAX };

    /// At most `limit` of what comes after a name, or from the start on, and at most 1,000.
    pub fn after(name: Option<&'a Name>, limit: u32) -> Self {
        let after = name.map_or("", Name::as_str);
        Self { after, limit: limit.min(CATALOG_PAGE_ROWS_MAX) }
    }

    /// As [`Self::after`], of a list by slug.
    pub fn after_slug(slug: Option<&'a Slug>, limit: u32) -> Self {
        let after = slug.map_or("", Slug::as_str);
        Self { after, limit: limit.min(CATALOG_PAGE_ROWS_MAX) }
    }

    /// Binds the name and the limit, in that order.
    pub(super) fn of(self, list: Statement<'a>) -> Statement<'a> {
        list.bind(self.after).bind(self.limit)
    }
}

/// A workspace or an agent, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<I> {
    /// Which one it is.
    pub id: I,
    /// What people call it.
    pub name: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// How many agents a workspace has, or how many sessions an agent.
    pub children: u64,
}

/// A session, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// Which one it is.
    pub id: SessionId,
    /// What people call it.
    pub name: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When something last happened in it, in milliseconds since the Unix epoch: files that are
    /// written from outside of turns are noted every few minutes.
    pub active_ms: u64,
    /// When it was closed, in milliseconds since the Unix epoch, if it is.
    pub closed_ms: Option<u64>,
    /// Since when nothing of it may be removed, in milliseconds since the Unix epoch.
    pub held_ms: Option<u64>,
    /// How many turns it had.
    pub turns: u64,
    /// What became of the latest one.
    pub latest: Option<TurnState>,
    /// What it waits to be answered, as far as a list shows it.
    pub question: Option<String>,
}

/// One table of named things, in SQL: `$1` is the parent's id, or that of what is deleted.
pub(super) struct Table {
    find: &'static str,
    /// Makes none where the parent is not there any more.
    insert: &'static str,
    /// When the last lease of a turn ends that runs there.
    pub(super) running: &'static str,
    /// A session there that is held, if one is.
    pub(super) held: &'static str,
    /// Says when (`$2`), why (`$3`) and for whom (`$4`) it is deleted.
    pub(super) say_why: &'static str,
    /// Since when it is deleted, if it is: one row.
    pub(super) gone_ms: &'static str,
    /// Lets nobody see it and what is below it any more, since a time (`$2`), and frees its name:
    /// nobody can give one that looks like an id. What is below it keeps its own, and is in no index
    /// that would have to be changed for it: there may be a hundred thousand of them.
    pub(super) hide: &'static [&'static str],
    /// The ids of its sessions.
    pub(super) sessions: &'static str,
    /// Forgets the questions that were settled there. Those of a workspace go with it.
    pub(super) erase_questions: Option<&'static str>,
    /// Locks it and all below it, from the top.
    pub(super) locks: &'static [&'static str],
}

pub(super) const WORKSPACES: Table = Table {
    find: "select id from workspaces where store_id = $1 and name = $2",
    insert: "insert into workspaces (store_id, name, id, created_ms) values ($1, $2, $3, $4)
        on conflict (store_id, name) do nothing",
    running: "select max(turns.lease_until_ms) from turns
        join sessions on sessions.id = turns.session_id
        join agents on agents.id = sessions.agent_id
        where agents.workspace_id = $1 and turns.state = 'running'",
    held: "select sessions.id from sessions join agents on agents.id = sessions.agent_id
        where agents.workspace_id = $1 and held_ms is not null limit 1",
    say_why: "update workspaces set gone_ms = coalesce(gone_ms, $2), gone_why = $3, gone_by = $4
        where id = $1",
    gone_ms: "select gone_ms from workspaces where id = $1",
    hide: &[
        "update workspaces set name = id, gone_ms = $2 where id = $1",
        "update stores set platform_workspace_id = null where platform_workspace_id =
            (select id from workspaces where id = $1 and gone_ms = $2)",
        "update agents set gone_ms = $2 where workspace_id = $1 and gone_ms is null",
        "update sessions set sweeping_ms = $2, ready_ms = null
            where agent_id in (select id from agents where workspace_id = $1)
                and sweeping_ms is null",
    ],
    sessions: "select sessions.id from sessions join agents on agents.id = sessions.agent_id
        where agents.workspace_id = $1",
    erase_questions: None,
    locks: &[
        "select id from workspaces where id = $1 for update",
        "select count(*) from
            (select id from agents where workspace_id = $1 order by id for update) as locked",
        "select count(*) from (select id from sessions where agent_id in
            (select id from agents where workspace_id = $1) order by id for update) as locked",
    ],
};

pub(super) const AGENTS: Table = Table {
    find: "select id from agents where workspace_id = $1 and name = $2 and gone_ms is null",
    insert: "insert into agents (workspace_id, name, id, created_ms)
        select id, $2, $3, $4 from workspaces where id = $1 and gone_ms is null
        on conflict (workspace_id, name) do nothing",
    running: "select max(turns.lease_until_ms) from turns
        join sessions on sessions.id = turns.session_id
        where sessions.agent_id = $1 and turns.state = 'running'",
    held: "select id from sessions where agent_id = $1 and held_ms is not null limit 1",
    say_why: "update agents set gone_ms = coalesce(gone_ms, $2), gone_why = $3, gone_by = $4
        where id = $1",
    gone_ms: "select gone_ms from agents where id = $1",
    hide: &[
        "update agents set name = id, gone_ms = $2 where id = $1",
        "update sessions set sweeping_ms = $2, ready_ms = null
            where agent_id = $1 and sweeping_ms is null",
    ],
    sessions: "select id from sessions where agent_id = $1",
    erase_questions: Some(
        "delete from settled_questions where agent_id = $1
        and workspace_id = (select workspace_id from agents where id = $1)",
    ),
    locks: &[
        "select id from agents where id = $1 for update",
        "select count(*) from
            (select id from sessions where agent_id = $1 order by id for update) as locked",
    ],
};

pub(super) const SESSIONS: Table = Table {
    find: "select id from sessions where agent_id = $1 and name = $2 and sweeping_ms is null",
    insert: "insert into sessions (agent_id, name, id, created_ms, active_ms)
        select id, $2, $3, $4, $4 from agents where id = $1 and gone_ms is null
        on conflict (agent_id, name) do nothing",
    running: "select max(lease_until_ms) from turns
        where session_id = $1 and state = 'running'",
    held: "select id from sessions where id = $1 and held_ms is not null",
    say_why: "update sessions set gone_ms = coalesce(gone_ms, $2), gone_why = $3, gone_by = $4
        where id = $1",
    gone_ms: "select sweeping_ms from sessions where id = $1",
    hide: &["update sessions set name = id, sweeping_ms = $2, ready_ms = null where id = $1"],
    sessions: "select id from sessions where id = $1",
    erase_questions: Some("delete from settled_questions where session_id = $1"),
    locks: &["select id from sessions where id = $1 for update"],
};

impl Catalog {
    /// The workspace of that name in this store.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn workspace(&self, name: &Name) -> Result<Option<WorkspaceId>, CatalogError> {
        Ok(self.find(&WORKSPACES, self.store, name).await?.map(WorkspaceId))
    }

    /// The agent of that name in a workspace.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn agent(
        &self,
        workspace: WorkspaceId,
        name: &Name,
    ) -> Result<Option<AgentId>, CatalogError> {
        Ok(self.find(&AGENTS, workspace.0, name).await?.map(AgentId))
    }

    /// The session of that name of an agent.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn session(
        &self,
        agent: AgentId,
        name: &Name,
    ) -> Result<Option<SessionId>, CatalogError> {
        Ok(self.find(&SESSIONS, agent.0, name).await?.map(SessionId))
    }

    /// The workspace of that name, made if there is none.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn make_workspace(&self, name: &Name) -> Result<Made<WorkspaceId>, CatalogError> {
        Ok(self.make(&WORKSPACES, self.store, name).await?.map(WorkspaceId))
    }

    /// The agent of that name, made if there is none.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if the workspace is gone; [`CatalogError::Unavailable`].
    pub async fn make_agent(
        &self,
        workspace: WorkspaceId,
        name: &Name,
    ) -> Result<Made<AgentId>, CatalogError> {
        Ok(self.make(&AGENTS, workspace.0, name).await?.map(AgentId))
    }

    /// The session of that name, made if there is none.
    ///
    /// # Errors
    /// [`CatalogError::Deleted`] if the agent is gone; [`CatalogError::Unavailable`].
    pub async fn make_session(
        &self,
        agent: AgentId,
        name: &Name,
    ) -> Result<Made<SessionId>, CatalogError> {
        Ok(self.make(&SESSIONS, agent.0, name).await?.map(SessionId))
    }

    /// Workspaces of this store, by name.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn workspaces(
        &self,
        page: Page<'_>,
    ) -> Result<Vec<Place<WorkspaceId>>, CatalogError> {
        let list = "select id, name, created_ms,
                (select count(*) from agents where workspace_id = workspaces.id
                    and gone_ms is null)
            from workspaces where store_id = $1 and name > $2 and gone_ms is null
            order by name limit $3";
        self.list(list, self.store, page).await
    }

    /// Agents of a workspace, by name.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn agents(
        &self,
        workspace: WorkspaceId,
        page: Page<'_>,
    ) -> Result<Vec<Place<AgentId>>, CatalogError> {
        let list = "select id, name, created_ms,
                (select count(*) from sessions where agent_id = agents.id
                    and sweeping_ms is null)
            from agents where workspace_id = $1 and name > $2 and gone_ms is null
            order by name limit $3";
        self.list(list, workspace.0, page).await
    }

    /// Sessions of an agent, by name; with a participant, those that he is in.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`].
    pub async fn sessions(
        &self,
        agent: AgentId,
        participant: Option<&Label>,
        page: Page<'_>,
    ) -> Result<Vec<SessionPlace>, CatalogError> {
        let list = "select id, name, created_ms, active_ms,
                (select count(*) from turns where session_id = sessions.id),
                (select state from turns where session_id = sessions.id
                    order by position desc limit 1),
                (select substr(question, 1, cast($5 as integer)) from turns
                    where session_id = sessions.id and state = 'parked'),
                closed_ms, held_ms
            from sessions where agent_id = $1 and name > $2 and sweeping_ms is null
                and ($4 is null or exists (select 1 from participants
                    where session_id = sessions.id and subject = $4))
            order by name limit $3";
        let list = page.of(sql(list).bind(agent));
        let list = list.bind(participant.map(Label::as_str)).bind(LISTED_TEXT_CHARACTERS_MAX);
        self.database.rows(list).await?.map(session_place)
    }

    async fn find(
        &self,
        table: &Table,
        parent: Uuid,
        name: &Name,
    ) -> Result<Option<Uuid>, CatalogError> {
        let find = sql(table.find).bind(parent).bind(name.as_str());
        Ok(self.database.rows(find).await?.first()?.map(|(id,)| id))
    }

    async fn make(
        &self,
        table: &Table,
        parent: Uuid,
        name: &Name,
    ) -> Result<Made<Uuid>, CatalogError> {
        // Mostly it is there, and nothing has to be written.
        if let Some(id) = self.find(table, parent, name).await? {
            return Ok(Made::Found(id));
        }
        let id = new_id();
        let insert = sql(table.insert).bind(parent).bind(name.as_str()).bind(id).bind(self.now());
        if self.database.execute(insert).await? == 1 {
            return Ok(Made::New(id));
        }
        self.find(table, parent, name).await?.map(Made::Found).ok_or(CatalogError::Deleted)
    }

    async fn list<I: Column>(
        &self,
        list: &'static str,
        parent: Uuid,
        page: Page<'_>,
    ) -> Result<Vec<Place<I>>, CatalogError> {
        let list = page.of(sql(list).bind(parent));
        self.database.rows(list).await?.map(|row| {
            let (id, name) = (row.at(0)?, row.at(1)?);
            Ok(Place { id, name, created_ms: row.at(2)?, children: row.at(3)? })
        })
    }
}

fn session_place(row: &Row) -> Result<SessionPlace, CatalogError> {
    let latest: Option<String> = row.at(5)?;
    Ok(SessionPlace {
        id: row.at(0)?,
        name: row.at(1)?,
        created_ms: row.at(2)?,
        active_ms: row.at(3)?,
        turns: row.at(4)?,
        latest: latest.as_deref().map(TurnState::parse).transpose()?,
        question: row.at(6)?,
        closed_ms: row.at(7)?,
        held_ms: row.at(8)?,
    })
}
