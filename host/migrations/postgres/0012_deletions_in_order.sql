-- In the order in which they are claimed: there may be very many that are due at once.
drop index storage_deletions_owed;
create index storage_deletions_owed on storage_deletions (store_id, due_ms, deleted_ms, id)
    where proved_ms is null;
