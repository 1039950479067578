-- A durable queue of turns, events in the order of their session, wakeups, components by name,
-- and what authorization and settings keep.

-- Events so far; the number of the latest one.
alter table sessions add column events bigint not null default 0;
-- Since when a turn of it may be claimed; null while none may.
alter table sessions add column ready_ms bigint;
create index sessions_ready on sessions (ready_ms) where ready_ms is not null;

-- Which of its session it is.
alter table turns add column position bigint not null default 0;
-- While it is queued: when it may be claimed.
alter table turns add column due_ms bigint not null default 0;
-- How often it may still be tried again after its host died.
alter table turns add column retries bigint not null default 0;
-- The worker that runs it; null for a process that holds the session by a lock of its own.
alter table turns add column host text;
-- What the caller named the request by, so that asked twice it is queued once.
alter table turns add column request text;
-- The exact table of skills that it was sent, in JSON.
alter table turns add column skills text;
-- When somebody asked to stop it while it ran.
alter table turns add column cancel_ms bigint;

update turns set position = (select count(*) from turns as earlier
    where earlier.session_id = turns.session_id
        and (earlier.queued_ms < turns.queued_ms
            or (earlier.queued_ms = turns.queued_ms and earlier.id <= turns.id)));

create unique index turns_in_order on turns (session_id, position);
create unique index turns_requested on turns (session_id, request);
create unique index turns_one_resumption on turns (resumes_id)
    where state in ('queued', 'running');
create index turns_queued on turns (session_id, position) where state = 'queued';
create index turns_open_with on turns (component)
    where state in ('queued', 'running', 'parked');
drop index turns_waiting_with;

create table events_in_order (
    session_id text not null references sessions (id) on delete cascade,
    number bigint not null,
    turn_id text not null references turns (id) on delete cascade,
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

insert into events_in_order (session_id, number, turn_id, attempt, at_ms, kind, path, target,
    size, level, message)
select turns.session_id,
    row_number() over (partition by turns.session_id order by turns.position, events.number),
    turns.id, turns.attempt, coalesce(turns.ended_ms, turns.queued_ms), events.kind, events.path,
    events.target, events.size, events.level, events.message
from events join turns on turns.id = events.turn_id;

drop table events;
alter table events_in_order rename to events;
create index events_of_turn on events (turn_id, number);
update sessions set events = (select count(*) from events where session_id = sessions.id);

create table wakeups_by_time (
    id text primary key not null,
    session_id text not null references sessions (id) on delete cascade,
    -- The turn that asked for it, if a turn did.
    turn_id text references turns (id) on delete cascade,
    due_ms bigint not null,
    input text not null,
    -- When it recurs: a pattern, and the time zone that it is read in.
    cron text,
    zone text,
    created_ms bigint not null,
    check ((cron is null) = (zone is null))
);

insert into wakeups_by_time (id, session_id, turn_id, due_ms, input, created_ms)
select id, session_id, turn_id, due_ms, input, due_ms from wakeups;

drop table wakeups;
alter table wakeups_by_time rename to wakeups;
create index wakeups_due on wakeups (due_ms);
create index wakeups_of_session on wakeups (session_id);
create index wakeups_of_turn on wakeups (turn_id);

-- What became of each time a wakeup was due.
create table trigger_firings (
    wakeup_id text not null,
    due_ms bigint not null,
    session_id text not null references sessions (id) on delete cascade,
    turn_id text not null references turns (id) on delete cascade,
    fired_ms bigint not null,
    primary key (wakeup_id, due_ms)
);

create index trigger_firings_of_session on trigger_firings (session_id);
create index trigger_firings_of_turn on trigger_firings (turn_id);

-- The component of an agent: a name, whose latest snapshot it is, or the bytes themselves.
alter table agents add column component_name text;
alter table agents add column component_sha256 text;
create index agents_with on agents (component_sha256) where component_sha256 is not null;

-- Components as they were uploaded under a name, the newest with the highest number.
create table component_snapshots (
    workspace_id text not null references workspaces (id) on delete cascade,
    name text not null,
    number bigint not null,
    sha256 text not null references components (sha256),
    created_ms bigint not null,
    primary key (workspace_id, name, number)
);

create index component_snapshots_with on component_snapshots (sha256);

-- Who is in a conversation.
create table participants (
    session_id text not null references sessions (id) on delete cascade,
    subject text not null,
    joined_ms bigint not null,
    primary key (session_id, subject)
);

create index participants_of_subject on participants (subject);

-- Settings of a store (the deployment), of a workspace or of an agent, in JSON.
create table settings (
    -- The id of whose they are.
    id text primary key not null,
    store_id text references stores (id),
    workspace_id text references workspaces (id) on delete cascade,
    agent_id text references agents (id) on delete cascade,
    value text not null,
    changed_ms bigint not null
);

create index settings_of_workspace on settings (workspace_id);
create index settings_of_agent on settings (agent_id);

-- Tokens that are not accepted any more, until they would have expired.
create table revoked_tokens (
    token text primary key not null,
    until_ms bigint not null
);

create index revoked_tokens_until on revoked_tokens (until_ms);
