-- Retention: when sessions go and why, the queue of files owed to deletion with what was proved of
-- it, and what is kept for an audit.

-- When it was closed: no turn begins in it any more.
alter table sessions add column closed_ms bigint;
-- Since when nothing of it may be removed.
alter table sessions add column held_ms bigint;
-- Since when it is being swept, and why: nothing happens in it any more.
alter table sessions add column sweeping_ms bigint;

-- Said of what is deleted right before it is: when, why and by whom, for its mark below.
alter table sessions add column gone_ms bigint;
alter table sessions add column gone_why text;
alter table sessions add column gone_by text;
alter table agents add column gone_ms bigint;
alter table agents add column gone_why text;
alter table agents add column gone_by text;
alter table workspaces add column gone_ms bigint;
alter table workspaces add column gone_why text;
alter table workspaces add column gone_by text;

create index sessions_by_activity on sessions (agent_id, active_ms, id);
create index sessions_sweeping on sessions (sweeping_ms) where sweeping_ms is not null;

-- Behind whom the next look at sessions begins: an agent and the name of a session of it.
alter table stores add column swept_agent text not null default '';
alter table stores add column swept_name text not null default '';

-- Why it was deleted; null where nobody said so.
alter table storage_deletions add column why text;
-- The subject who asked for it; null for whoever runs the host, and for the host itself.
alter table storage_deletions add column by_subject text;
-- How often somebody began with it.
alter table storage_deletions add column attempt bigint not null default 0;
-- When it may be begun with: until then it is somebody's, or is to rest.
alter table storage_deletions add column due_ms bigint not null default 0;
-- Since when nothing was left of it as far as could be seen, and since when nothing can come.
alter table storage_deletions add column emptied_ms bigint;
alter table storage_deletions add column proved_ms bigint;
-- What was removed so far.
alter table storage_deletions add column files bigint not null default 0;
alter table storage_deletions add column bytes bigint not null default 0;
alter table storage_deletions add column versions bigint not null default 0;
alter table storage_deletions add column uploads bigint not null default 0;
alter table storage_deletions add column digest text;
-- What cannot be promised of this store, in a sentence.
alter table storage_deletions add column unproved text;

create index storage_deletions_owed on storage_deletions (store_id, due_ms)
    where proved_ms is null;
create index storage_deletions_of_workspace on storage_deletions (workspace_id, deleted_ms);

drop trigger workspaces_owe_files;
create trigger workspaces_owe_files after delete on workspaces
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, deleted_ms, why, by_subject)
    values (old.id, old.store_id, 'workspace', old.id,
        coalesce(old.gone_ms, cast(unixepoch('subsec') * 1000 as integer)),
        old.gone_why, old.gone_by);
end;

-- Where the parent is what was deleted, its row is gone by now and its own mark covers this one.
drop trigger agents_owe_files;
create trigger agents_owe_files after delete on agents
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms, why,
        by_subject)
    select old.id, workspaces.store_id, 'agent', old.workspace_id, old.id,
        coalesce(old.gone_ms, cast(unixepoch('subsec') * 1000 as integer)),
        old.gone_why, old.gone_by
    from workspaces where workspaces.id = old.workspace_id;
end;

drop trigger sessions_owe_files;
create trigger sessions_owe_files after delete on sessions
begin
    insert into storage_deletions (id, store_id, kind, workspace_id, agent_id, deleted_ms, why,
        by_subject)
    select old.id, workspaces.store_id, 'session', workspaces.id, agents.id,
        coalesce(old.gone_ms, cast(unixepoch('subsec') * 1000 as integer)),
        old.gone_why, old.gone_by
    from agents join workspaces on workspaces.id = agents.workspace_id
    where agents.id = old.agent_id;
end;

-- Questions that were answered or taken back, for an audit: they stay when their session goes,
-- whose id names nothing then, and go with their workspace.
create table settled_questions (
    turn_id text primary key not null,
    workspace_id text not null references workspaces (id) on delete cascade,
    agent_id text not null,
    session_id text not null,
    question text not null,
    -- Null where it was taken back.
    answer text,
    asked_ms bigint not null,
    settled_ms bigint not null
);

create index settled_questions_of_workspace on settled_questions (workspace_id, turn_id);
create index settled_questions_of_session on settled_questions (session_id);

insert into settled_questions (turn_id, workspace_id, agent_id, session_id, question, answer,
    asked_ms, settled_ms)
select turns.id, agents.workspace_id, agents.id, sessions.id, turns.question,
    (select answer from turns as answers where answers.resumes_id = turns.id
        and answers.state in ('done', 'parked') order by answers.position desc limit 1),
    coalesce(turns.ended_ms, turns.queued_ms),
    coalesce((select max(answers.ended_ms) from turns as answers
        where answers.resumes_id = turns.id), turns.ended_ms, turns.queued_ms)
from turns join sessions on sessions.id = turns.session_id
join agents on agents.id = sessions.agent_id
where turns.question is not null and turns.state in ('done', 'failed');

-- When the pieces of its reply were removed, once it was over for long enough.
alter table turns add column pieces_gone_ms bigint;
create index turns_with_pieces on turns (ended_ms)
    where pieces_gone_ms is null and state in ('done', 'failed');

create index trigger_firings_by_time on trigger_firings (fired_ms);
