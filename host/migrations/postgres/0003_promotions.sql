-- Receipts of promotions: who copied which file to a longer-lived scope. They stay when the
-- session or the agent goes, whose ids name nothing then, and go with their workspace.
create table promotions (
    id text collate "C" primary key,
    workspace_id text collate "C" not null references workspaces (id) on delete cascade,
    agent_id text collate "C" not null,
    session_id text collate "C",
    -- The turn that did it, or the subject of the token; neither for whoever runs the host.
    turn_id text collate "C",
    subject text collate "C",
    source text not null,
    target text not null,
    revision text not null,
    at_ms bigint not null,
    check (turn_id is null or subject is null)
);

create index promotions_of_workspace on promotions (workspace_id, id);
create index promotions_of_session on promotions (session_id, id);

-- Which content a promoted copy has.
alter table events add column revision text;
