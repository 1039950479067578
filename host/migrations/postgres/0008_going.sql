-- What was deleted is hidden at once, and its rows go in pieces: one that goes with something else
-- leaves no mark of its own.

create index agents_going on agents (gone_ms) where gone_ms is not null;
create index workspaces_going on workspaces (gone_ms) where gone_ms is not null;

create or replace function agent_owes_files() returns trigger language plpgsql as $$
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms, why,
        by_subject)
    select old.id, workspaces.store_id, 'agent', old.workspace_id, old.id,
        coalesce(old.gone_ms, cast(extract(epoch from clock_timestamp()) * 1000 as bigint)),
        old.gone_why, old.gone_by
    from workspaces where workspaces.id = old.workspace_id and workspaces.gone_ms is null;
    return null;
end $$;

create or replace function session_owes_files() returns trigger language plpgsql as $$
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms, why,
        by_subject)
    select old.id, workspaces.store_id, 'session', workspaces.id, agents.id,
        coalesce(old.gone_ms, cast(extract(epoch from clock_timestamp()) * 1000 as bigint)),
        old.gone_why, old.gone_by
    from agents join workspaces on workspaces.id = agents.workspace_id
    where agents.id = old.agent_id and agents.gone_ms is null and workspaces.gone_ms is null;
    return null;
end $$;
