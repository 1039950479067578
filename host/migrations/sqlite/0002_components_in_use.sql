-- Whether a component is still needed is asked at the end of every turn.
create index turns_waiting_with on turns (component) where state = 'parked';
