-- The subject who opened the session of a settled question: an erasure finds it when that session is
-- gone. Null where nobody said so, and where the session went before this was noted.
alter table settled_questions add column opened_by text;
create index settled_questions_of_opener on settled_questions (workspace_id, opened_by)
    where opened_by is not null;

update settled_questions set opened_by =
    (select opened_by from sessions where sessions.id = settled_questions.session_id);
