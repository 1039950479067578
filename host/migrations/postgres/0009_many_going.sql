-- What goes with its agent or its workspace is marked in its row, and in no index: there may be very
-- many of it. What goes by itself has a reason of its own, and is found by that.

drop index sessions_sweeping;
create index sessions_going on sessions (gone_ms) where gone_ms is not null;

drop index agents_going;
create index agents_going on agents (gone_ms) where gone_why is not null;

drop index workspaces_going;
create index workspaces_going on workspaces (store_id, gone_ms) where gone_ms is not null;

create index sessions_held on sessions (agent_id) where held_ms is not null;
