-- Skills: packages of files in versions, which agents are given and turns are sent.

create table skills (
    id text primary key not null,
    workspace_id text not null references workspaces (id) on delete cascade,
    slug text not null,
    -- The number of its newest version.
    latest bigint not null,
    created_ms bigint not null,
    unique (workspace_id, slug)
);

create table skill_versions (
    id text primary key not null,
    workspace_id text not null references workspaces (id) on delete cascade,
    -- Null once the skill was deleted, and of what was given to a turn alone: such a version stays
    -- for as long as a turn needs it that has not ended.
    skill_id text references skills (id) on delete set null,
    slug text not null,
    number bigint not null,
    description text not null,
    -- SHA-256 over the paths and contents of its files.
    digest text not null,
    files bigint not null,
    size bigint not null,
    created_ms bigint not null,
    -- Until when it stays, whether or not a turn needs it.
    kept_until_ms bigint not null
);

create unique index skill_versions_in_order on skill_versions (skill_id, number);
create index skill_versions_of_workspace on skill_versions (workspace_id, digest);
create index skill_versions_unlisted on skill_versions (kept_until_ms) where skill_id is null;

-- Contents of files that may be in the store: written before they are put there, and removed
-- after they were removed there. A workspace that is deleted leaves its own to be looked for.
create table skill_blobs (
    workspace_id text not null,
    sha256 text not null,
    store_id text not null references stores (id),
    -- Until when it stays, whether or not a version needs it.
    kept_until_ms bigint not null,
    -- Since when it is being removed.
    condemned_ms bigint,
    primary key (workspace_id, sha256)
);

create index skill_blobs_by_time on skill_blobs (kept_until_ms);

create table skill_version_files (
    version_id text not null references skill_versions (id) on delete cascade,
    path text not null,
    workspace_id text not null,
    sha256 text not null,
    size bigint not null,
    primary key (version_id, path),
    foreign key (workspace_id, sha256) references skill_blobs (workspace_id, sha256)
);

create index skill_version_files_with on skill_version_files (workspace_id, sha256);

-- What the turns of an agent are sent.
create table agent_skills (
    agent_id text not null references agents (id) on delete cascade,
    skill_id text not null references skills (id) on delete cascade,
    -- Which version; null for the newest there is when a turn is queued.
    number bigint,
    -- In which order they were bound.
    position bigint not null,
    bound_ms bigint not null,
    primary key (agent_id, skill_id)
);

create index agent_skills_with on agent_skills (skill_id);

-- What a turn was sent when it was queued.
create table turn_skills (
    turn_id text not null references turns (id) on delete cascade,
    position bigint not null,
    version_id text not null references skill_versions (id) on delete cascade,
    primary key (turn_id, position)
);

create index turn_skills_with on turn_skills (version_id);

alter table turns drop column skills;

-- The workspace whose skills agents of all workspaces may be given.
alter table stores add column platform_workspace_id text references workspaces (id)
    on delete set null;
create index stores_with_platform on stores (platform_workspace_id);
