-- Times are milliseconds since the Unix epoch; ids are UUIDs made by the host, never used twice.
-- Texts that are compared or put in order are in the order of their bytes, as in SQLite.

create table stores (
    id text collate "C" primary key,
    -- Where its files are, as the operator named it; `files` for the store of a data directory.
    location text collate "C" not null unique
);

create table workspaces (
    id text collate "C" primary key,
    store_id text collate "C" not null references stores (id),
    name text collate "C" not null,
    created_ms bigint not null,
    unique (store_id, name)
);

create table agents (
    id text collate "C" primary key,
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    name text collate "C" not null,
    created_ms bigint not null,
    -- Its component: a name, whose latest snapshot it is, or the bytes themselves.
    component_name text collate "C",
    component_sha256 text collate "C",
    unique (workspace_id, name)
);

create index agents_with on agents (component_sha256) where component_sha256 is not null;

create table sessions (
    id text collate "C" primary key,
    agent_id text collate "C" not null references agents (id) on delete cascade,
    name text collate "C" not null,
    created_ms bigint not null,
    active_ms bigint not null,
    -- Events so far; the number of the latest one.
    events bigint not null default 0,
    -- Since when a turn of it may be claimed; null while none may.
    ready_ms bigint,
    unique (agent_id, name)
);

create index sessions_ready on sessions (ready_ms) where ready_ms is not null;

create table turns (
    id text collate "C" primary key,
    session_id text collate "C" not null references sessions (id) on delete cascade,
    -- Which of its session it is.
    position bigint not null,
    -- The parked turn whose question this one answers.
    resumes_id text collate "C" references turns (id) on delete cascade,
    state text not null check (state in ('queued', 'running', 'parked', 'done', 'failed')),
    attempt bigint not null check (attempt >= 1),
    -- How often it may still be tried again after its host died.
    retries bigint not null default 0,
    -- SHA-256 of the component, in hexadecimal.
    component text collate "C" not null,
    input text not null,
    answer text,
    -- What the caller named the request by, so that asked twice it is queued once.
    request text collate "C",
    -- The exact table of skills that it was sent, in JSON.
    skills text,
    -- What the guest said until its end.
    said text not null default '',
    reply text,
    question text,
    failure text check (failure in
        ('guest-error', 'trapped', 'limit', 'cancelled', 'host-fault', 'abandoned')),
    error text,
    queued_ms bigint not null,
    -- While it is queued: when it may be claimed.
    due_ms bigint not null default 0,
    started_ms bigint,
    ended_ms bigint,
    -- When somebody asked to stop it while it ran.
    cancel_ms bigint,
    -- The worker that runs it; null for a process that holds the session by a lock of its own.
    host text,
    -- While it runs: when it may be given up as dead.
    lease_until_ms bigint,
    check ((state = 'running') = (lease_until_ms is not null)),
    check ((state = 'failed') = (failure is not null)),
    check (state <> 'parked' or question is not null)
);

create unique index turns_in_order on turns (session_id, position);
create unique index turns_requested on turns (session_id, request);
create index turns_resumed on turns (resumes_id);
create unique index turns_one_at_a_time on turns (session_id) where state = 'running';
create index turns_leased on turns (lease_until_ms) where state = 'running';
create unique index turns_one_open_question on turns (session_id) where state = 'parked';
create unique index turns_one_resumption on turns (resumes_id)
    where state in ('queued', 'running');
create index turns_queued on turns (session_id, position) where state = 'queued';
create index turns_open_with on turns (component)
    where state in ('queued', 'running', 'parked');

-- Components that a name, an agent or an open turn needs.
create table components (
    sha256 text collate "C" primary key,
    bytes bytea not null
);

-- Components as they were uploaded under a name, the newest with the highest number.
create table component_snapshots (
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    name text collate "C" not null,
    number bigint not null,
    sha256 text collate "C" not null references components (sha256),
    created_ms bigint not null,
    primary key (workspace_id, name, number)
);

create index component_snapshots_with on component_snapshots (sha256);

create table wakeups (
    id text collate "C" primary key,
    session_id text collate "C" not null references sessions (id) on delete cascade,
    -- The turn that asked for it, if a turn did.
    turn_id text collate "C" references turns (id) on delete cascade,
    due_ms bigint not null,
    input text not null,
    -- When it recurs: a pattern, and the time zone that it is read in.
    cron text,
    zone text,
    created_ms bigint not null,
    check ((cron is null) = (zone is null))
);

create index wakeups_due on wakeups (due_ms);
create index wakeups_of_session on wakeups (session_id);
create index wakeups_of_turn on wakeups (turn_id);

-- What became of each time a wakeup was due.
create table trigger_firings (
    wakeup_id text collate "C" not null,
    due_ms bigint not null,
    session_id text collate "C" not null references sessions (id) on delete cascade,
    turn_id text collate "C" not null references turns (id) on delete cascade,
    fired_ms bigint not null,
    primary key (wakeup_id, due_ms)
);

create index trigger_firings_of_session on trigger_firings (session_id);
create index trigger_firings_of_turn on trigger_firings (turn_id);

-- What turns did with files, said and logged, and where they stood, in order.
create table events (
    session_id text collate "C" not null references sessions (id) on delete cascade,
    number bigint not null,
    turn_id text collate "C" not null references turns (id) on delete cascade,
    -- Which attempt at the turn did it.
    attempt bigint not null,
    at_ms bigint not null,
    kind text not null check (kind in
        ('state', 'said', 'logged', 'written', 'deleted', 'promoted', 'spilled')),
    path text,
    target text,
    size bigint,
    level text,
    message text,
    primary key (session_id, number)
);

create index events_of_turn on events (turn_id, number);

-- Who is in a conversation.
create table participants (
    session_id text collate "C" not null references sessions (id) on delete cascade,
    subject text collate "C" not null,
    joined_ms bigint not null,
    primary key (session_id, subject)
);

create index participants_of_subject on participants (subject);

-- Settings of a store (the deployment), of a workspace or of an agent, in JSON.
create table settings (
    -- The id of whose they are.
    id text collate "C" primary key,
    store_id text collate "C" references stores (id),
    workspace_id text collate "C" references workspaces (id) on delete cascade,
    agent_id text collate "C" references agents (id) on delete cascade,
    value text not null,
    changed_ms bigint not null
);

create index settings_of_workspace on settings (workspace_id);
create index settings_of_agent on settings (agent_id);

-- Tokens that are not accepted any more, until they would have expired.
create table revoked_tokens (
    token text collate "C" primary key,
    until_ms bigint not null
);

create index revoked_tokens_until on revoked_tokens (until_ms);

-- Files owed to deletion: whose they were, never their keys. A trigger writes them, so that
-- what goes with its parent is caught as well; a row stays until its files are gone.
create table storage_deletions (
    -- The id of what was deleted.
    id text collate "C" primary key,
    store_id text collate "C" not null references stores (id),
    kind text not null check (kind in ('session', 'agent', 'workspace')),
    workspace_id text collate "C" not null,
    agent_id text collate "C",
    deleted_ms bigint not null
);

create function workspace_owes_files() returns trigger language plpgsql as $$
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, deleted_ms)
    values (old.id, old.store_id, 'workspace', old.id,
        cast(extract(epoch from clock_timestamp()) * 1000 as bigint));
    return null;
end $$;

create trigger workspaces_owe_files after delete on workspaces
for each row execute function workspace_owes_files();

-- Where the parent is what was deleted, its row is gone by now and its own mark covers this one.
create function agent_owes_files() returns trigger language plpgsql as $$
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms)
    select old.id, workspaces.store_id, 'agent', old.workspace_id, old.id,
        cast(extract(epoch from clock_timestamp()) * 1000 as bigint)
    from workspaces where workspaces.id = old.workspace_id;
    return null;
end $$;

create trigger agents_owe_files after delete on agents
for each row execute function agent_owes_files();

create function session_owes_files() returns trigger language plpgsql as $$
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms)
    select old.id, workspaces.store_id, 'session', workspaces.id, agents.id,
        cast(extract(epoch from clock_timestamp()) * 1000 as bigint)
    from agents join workspaces on workspaces.id = agents.workspace_id
    where agents.id = old.agent_id;
    return null;
end $$;

create trigger sessions_owe_files after delete on sessions
for each row execute function session_owes_files();
