-- Erasure: what was asked to be deleted by when, what it came to, and the receipts of it. Nothing
-- that is deleted takes them along.

-- The subject who opened it; null where nobody said so.
alter table sessions add column opened_by text;
create index sessions_opened on sessions (opened_by) where opened_by is not null;

-- What was removed from the store so far, in JSON, page by page.
alter table storage_deletions add column emptied text;

create table erasures (
    id text primary key not null,
    store_id text not null references stores (id),
    workspace_id text not null,
    -- Whose sessions; null for all of the workspace, and once it is proved.
    subject text,
    -- Who asked; null for whoever runs the host, and once it is proved.
    by_subject text,
    asked_ms bigint not null,
    deadline_ms bigint not null,
    -- Why it does not go on; null while it does.
    blocked text check (blocked in ('held', 'running')),
    -- Since when all of it is deleted, and owed by the store.
    gone_ms bigint,
    -- Since when it is proved that nothing is left, and the receipt of it.
    proved_ms bigint,
    receipt text,
    check ((proved_ms is null) = (receipt is null))
);

create index erasures_open on erasures (store_id, deadline_ms) where proved_ms is null;

-- What an erasure came to: the ids of a workspace, or of sessions.
create table erasure_parts (
    erasure_id text not null references erasures (id),
    workspace_id text not null,
    agent_id text,
    session_id text,
    -- The id of what is to be deleted.
    id text not null,
    primary key (erasure_id, id)
);
