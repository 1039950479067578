-- How many events the running attempt at a turn has recorded: of a renewal whose answer was lost they
-- are not recorded again.

alter table turns add column recorded bigint not null default 0;
