-- Times are milliseconds since the Unix epoch; ids are UUIDs made by the host, never used twice.

create table stores (
    id text primary key not null,
    -- Where its files are, as the operator named it; `files` for the store of the data directory.
    location text not null unique
);

create table workspaces (
    id text primary key not null,
    store_id text not null references stores (id),
    name text not null,
    created_ms bigint not null,
    unique (store_id, name)
);

create table agents (
    id text primary key not null,
    workspace_id text not null references workspaces (id) on delete cascade,
    name text not null,
    created_ms bigint not null,
    unique (workspace_id, name)
);

create table sessions (
    id text primary key not null,
    agent_id text not null references agents (id) on delete cascade,
    name text not null,
    created_ms bigint not null,
    active_ms bigint not null,
    unique (agent_id, name)
);

create table turns (
    id text primary key not null,
    session_id text not null references sessions (id) on delete cascade,
    -- The parked turn whose question this one answers.
    resumes_id text references turns (id) on delete cascade,
    state text not null check (state in ('queued', 'running', 'parked', 'done', 'failed')),
    attempt bigint not null check (attempt >= 1),
    -- SHA-256 of the component, in hexadecimal.
    component text not null,
    input text not null,
    answer text,
    -- What the guest said so far; all that is left of a turn whose host died.
    said text not null default '',
    reply text,
    question text,
    failure text check (failure in
        ('guest-error', 'trapped', 'limit', 'cancelled', 'host-fault', 'abandoned')),
    error text,
    queued_ms bigint not null,
    started_ms bigint,
    ended_ms bigint,
    -- While it runs: when it may be given up as dead.
    lease_until_ms bigint,
    check ((state = 'running') = (lease_until_ms is not null)),
    check ((state = 'failed') = (failure is not null)),
    check (state <> 'parked' or question is not null)
);

create index turns_of_session on turns (session_id, queued_ms);
create index turns_resumed on turns (resumes_id);
create unique index turns_one_at_a_time on turns (session_id) where state = 'running';
create index turns_leased on turns (lease_until_ms) where state = 'running';
create unique index turns_one_open_question on turns (session_id) where state = 'parked';

-- Components that an open question waits to go on with.
create table components (
    sha256 text primary key not null,
    bytes blob not null
);

create table wakeups (
    id text primary key not null,
    session_id text not null references sessions (id) on delete cascade,
    turn_id text not null references turns (id) on delete cascade,
    due_ms bigint not null,
    input text not null
);

create index wakeups_due on wakeups (due_ms);
create index wakeups_of_session on wakeups (session_id);
create index wakeups_of_turn on wakeups (turn_id);

-- What a turn did with files and what it logged, in order.
create table events (
    turn_id text not null references turns (id) on delete cascade,
    number bigint not null,
    kind text not null check (kind in ('written', 'deleted', 'promoted', 'spilled', 'logged')),
    path text,
    target text,
    size bigint,
    level text,
    message text,
    primary key (turn_id, number)
);

-- Files owed to deletion: whose they were, never their keys. A trigger writes them, so that
-- what goes with its parent is caught as well; a row stays until its files are gone.
create table storage_deletions (
    -- The id of what was deleted.
    id text primary key not null,
    store_id text not null references stores (id),
    kind text not null check (kind in ('session', 'agent', 'workspace')),
    workspace_id text not null,
    agent_id text,
    deleted_ms bigint not null
);

create trigger workspaces_owe_files after delete on workspaces
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, deleted_ms)
    values (old.id, old.store_id, 'workspace', old.id, cast(unixepoch('subsec') * 1000 as integer));
end;

-- Where the parent is what was deleted, its row is gone by now and its own mark covers this one.
create trigger agents_owe_files after delete on agents
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms)
    select old.id, workspaces.store_id, 'agent', old.workspace_id, old.id,
        cast(unixepoch('subsec') * 1000 as integer)
    from workspaces where workspaces.id = old.workspace_id;
end;

create trigger sessions_owe_files after delete on sessions
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms)
    select old.id, workspaces.store_id, 'session', workspaces.id, agents.id,
        cast(unixepoch('subsec') * 1000 as integer)
    from agents join workspaces on workspaces.id = agents.workspace_id
    where agents.id = old.agent_id;
end;
