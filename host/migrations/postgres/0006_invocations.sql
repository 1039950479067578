-- What an attempt at a turn asked of its host: calls that were alike are one row.
create table tool_invocations (
    turn_id text collate "C" not null references turns (id) on delete cascade,
    attempt bigint not null,
    verb text collate "C" not null,
    -- The scope that they named; empty where they named none.
    scope text collate "C" not null,
    -- `ok`, or the word of the refusal.
    outcome text collate "C" not null,
    calls bigint not null,
    -- Bytes of files that were read or written.
    bytes bigint not null,
    waited_us bigint not null,
    expires_ms bigint not null,
    primary key (turn_id, attempt, verb, scope, outcome)
);

create index tool_invocations_by_time on tool_invocations (expires_ms);
