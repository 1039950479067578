-- When the agent's folder got the page that explains it: once in the agent's life.
alter table agents add column welcomed_ms bigint;
