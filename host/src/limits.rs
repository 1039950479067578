//! Every bound of the host, each with its unit in its name. Constants belong to the contract
//! in `wit/`; [`Limits`] are the settings of a deployment.

/// Longest path below its scope, in bytes.
pub const PATH_REST_BYTES_MAX: usize = 768;
/// Longest segment of a path, in bytes: what common filesystems hold.
pub const PATH_SEGMENT_BYTES_MAX: usize = 255;
/// Longest slug of a skill, in bytes.
pub const SLUG_BYTES_MAX: usize = 64;
/// Longest key prefix of an operator (`s3://bucket/prefix`), in bytes, its `/` included.
pub const OPERATOR_PREFIX_BYTES_MAX: usize = 64;
/// Longest object key that S3 stores, in bytes.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html>
pub const KEY_BYTES_MAX: usize = 1024;

/// Most bytes that one `read` returns.
pub const READ_BYTES_MAX: u32 = 4 << 20;
/// Most bytes that one whole-file `write` takes.
pub const WRITE_BYTES_MAX: usize = 16 << 20;
/// Most bytes that one call of a writer takes.
pub const WRITER_CALL_BYTES_MAX: usize = 4 << 20;
/// Most bytes that a store holds of one file being written, as it is set up: one part on its
/// way, one filling. More only as far as there is spare room.
pub const UPLOAD_HELD_BYTES_MAX: usize = 16 << 20;
/// A file being written takes room as it grows up to this size, in bytes, and then all that it
/// will need.
pub const WRITER_SMALL_BYTES_MAX: usize = 1 << 20;
/// Largest file of a skill that is kept in memory, in bytes.
pub const BLOB_KEPT_BYTES_MAX: u64 = 256 << 10;
/// Files of skills kept in memory, all together, in bytes.
pub const BLOBS_KEPT_BYTES_MAX: usize = 16 << 20;
/// How long a file of a skill is kept in memory, in milliseconds: another host may delete it.
pub const BLOB_KEPT_MS_MAX: u64 = 600_000;
/// A file of a skill is kept in memory if it took so long to get, in microseconds.
pub const BLOB_SLOW_US_MIN: u64 = 500;
/// Smallest buffer that is kept for the next use, in bytes: smaller ones cost little to make.
pub const BUFFER_KEPT_BYTES_MIN: usize = 64 << 10;
/// Buffers kept for the next use, all together, in bytes, beside those that are in use.
pub const BUFFERS_KEPT_BYTES_MAX: usize = 16 << 20;
/// What a reader asks for when it is opened, in bytes: a small file comes in that one request.
pub const READ_FIRST_BYTES: u32 = 64 << 10;
/// How much of a file is looked at to find out what it is, in bytes, where its name does not say it.
pub const SNIFF_BYTES: u32 = 512;
/// How far a reader that goes on reads ahead at first, in bytes, if its reads are no longer.
pub const READ_AHEAD_BYTES_MIN: u64 = 256 << 10;
/// How far a reader reads ahead at most, in bytes.
pub const READ_AHEAD_BYTES_MAX: u64 = 32 << 20;
/// How far ahead it reads at most while no read of it waits for long, in bytes: what is near needs
/// no more, and what is held of it should stay in the processor's cache.
pub const READ_AHEAD_NEAR_BYTES_MAX: u64 = 8 << 20;
/// A read that waited so long, in milliseconds, is one of what is far.
pub const READ_FAR_MS_MIN: u64 = 2;
/// Smallest range that is read ahead, but for the end of a file, in bytes.
pub const READ_AHEAD_BLOCK_BYTES_MIN: u64 = 256 << 10;
/// Largest range that is read ahead, in bytes.
pub const READ_AHEAD_BLOCK_BYTES_MAX: u64 = 4 << 20;
/// How long what was read ahead is kept for a reader that does not go on, in milliseconds; it is
/// looked for as often.
pub const READ_AHEAD_IDLE_MS_MAX: u64 = 500;
/// One part in so many of a turn's and of the host's room, for bytes and operations, is for what
/// nobody has asked for yet: ranges read ahead, and parts of a file being written beyond the two
/// that it always has. What is asked for finds the rest.
pub const SPARE_SHARE: usize = 2;
/// Largest file that `replace` and `append` change, in bytes.
pub const EDIT_BYTES_MAX: usize = 16 << 20;
/// Most bytes of one slice of text.
pub const TEXT_SLICE_BYTES_MAX: usize = 256 << 10;
/// Most files on one page of a listing, and most matches on one page of a search.
pub const PAGE_FILES_MAX: u32 = 1000;
/// Most bytes that one `search` call reads.
pub const SEARCH_READ_BYTES_MAX: u64 = 32 << 20;
/// Longest pattern or glob of a `search`, in bytes.
pub const SEARCH_PATTERN_BYTES_MAX: usize = 4 << 10;
/// Largest compiled pattern of a `search`, in bytes. At worst, matching takes as long as this is
/// large times as the text is long, and what is matched at once cannot be interrupted: with the
/// next bound, about a second.
pub const SEARCH_PROGRAM_BYTES_MAX: usize = 256 << 10;
/// Most bytes of a line that are matched at once; a longer one is searched in pieces.
pub const SEARCH_PIECE_BYTES_MAX: usize = 64 << 10;
/// How long one `search` call matches, in milliseconds: it ends after the piece in hand.
pub const SEARCH_MATCH_MS_MAX: u64 = 1_000;
/// Longest line that a match shows, in bytes.
pub const SEARCH_LINE_BYTES_MAX: usize = 1 << 10;
/// Bytes that the host takes at a time out of a stream that a guest writes, and fetches ahead of
/// one that it reads.
pub const STREAM_PIECE_BYTES: usize = 256 << 10;
/// Largest file that a guest writes through a folder and that is gathered in memory, in bytes; a
/// larger one goes to a temporary file of the host.
pub const GATHERED_HELD_BYTES_MAX: u64 = 1 << 20;
/// What is written to such a temporary file at once, in bytes; a stream takes as many at a time.
pub const GATHERED_PIECE_BYTES: usize = 1 << 20;
/// Most bytes that one read through a folder returns.
pub const FOLDER_READ_BYTES_MAX: u32 = 1 << 20;
/// Files and kept folders that are moved when a folder is renamed, at most.
pub const FOLDER_MOVED_MAX: usize = 1_000;
/// Times, and folders that may have become empty, that a turn remembers, of each.
pub const FOLDER_NOTES_MAX: usize = 10_000;
/// Names that are listed at a time of a folder that is read as a stream: a guest may have many of
/// those open.
pub const LISTING_PAGE_FILES: u32 = 256;
/// Longest path that a guest names a place in a folder by, in bytes.
pub const FOLDER_PATH_BYTES_MAX: usize = 4 << 10;
/// Longest input and longest reply of a turn, in bytes.
pub const TURN_TEXT_BYTES_MAX: usize = 4 << 20;
/// Longest name of a workspace, an agent, a session or a component, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Longest name that others give to what is theirs (subjects, tokens, requests), in bytes.
pub const LABEL_BYTES_MAX: usize = 255;
/// Connections of one host to a PostgreSQL server.
pub const CATALOG_CONNECTIONS_MAX: u32 = 16;
/// Turns that wait in one session.
pub const SESSION_QUEUED_MAX: u64 = 100;
/// Most rows on one page of a list of the catalog's.
pub const CATALOG_PAGE_ROWS_MAX: u32 = 1_000;
/// Most turns on one page.
pub const TURNS_PAGE_MAX: u32 = 100;
/// How much of a text of a turn a list shows, in characters.
pub const LISTED_TEXT_CHARACTERS_MAX: u32 = 16 << 10;
/// Files of one version of a skill.
pub const SKILL_FILES_MAX: usize = 500;
/// Largest file of a skill, in bytes.
pub const SKILL_FILE_BYTES_MAX: usize = 1 << 20;
/// Longest description of a skill, in characters. <https://agentskills.io/specification>
pub const SKILL_DESCRIPTION_CHARACTERS_MAX: usize = 1_024;
/// Longest frontmatter of a `SKILL.md`, in bytes.
pub const SKILL_FRONTMATTER_BYTES_MAX: usize = 16 << 10;
/// Skills that one agent is given.
pub const AGENT_SKILLS_MAX: u64 = 64;
/// How long the contents of a skill's files stay though no version needs them, in milliseconds:
/// longer than it takes to publish one.
pub const SKILL_GRACE_MS: u64 = 6 * 3_600_000;
/// Contents of files of skills that are removed at a time.
pub const SKILL_BLOBS_REMOVED_MAX: u32 = 100;
/// When removing a content is tried again by whoever looks, in milliseconds: long after whoever
/// began it can still be at it.
pub const SKILL_REMOVAL_AGAIN_MS: u64 = 600_000;
/// How often is looked for contents that nobody needs, in milliseconds.
pub const SKILL_COLLECTING_MS: u64 = 300_000;
/// Most events on one page.
pub const EVENTS_PAGE_MAX: u32 = 256;
/// Longest piece of a reply that is one event, in bytes; a longer one becomes several.
pub const EVENT_SAID_BYTES_MAX: usize = 64 << 10;
/// How often a turn is tried again after its host died.
pub const TURN_RETRIES_MAX: u32 = 3;
/// What a host has to have left of the memory for guests, in bytes, for each turn that it claims:
/// what an ordinary guest needs. One that needs more may still be refused it.
pub const TURN_ADMISSION_BYTES: usize = 16 << 20;
/// How long a turn whose host died waits until it is tried again, in milliseconds, for each
/// attempt that there was: what ends one host is not to end all of them at once.
pub const TURN_RETRY_PAUSE_MS: u64 = 1_000;
/// How often who watches the catalog looks again if nobody tells of a change, in milliseconds.
pub const WATCH_LOOK_MS: u64 = 2_000;
/// Snapshots of a component that are kept under its name, the newest.
pub const COMPONENT_SNAPSHOTS_KEPT: u64 = 3;
/// Wakeups of one session that are still to come.
pub const SESSION_WAKEUPS_MAX: u64 = 100;
/// Longest pattern of a wakeup that recurs, in bytes.
pub const CRON_BYTES_MAX: usize = 128;
/// Largest settings of one level, in bytes of JSON.
pub const SETTINGS_BYTES_MAX: usize = 64 << 10;
/// Core instances of one guest whose calls overlap, where [`Limits::guest_instances_max`] is not
/// less: each may keep a stack of its own, up to half a MiB of it in use.
pub const OVERLAPPING_INSTANCES_MAX: usize = 64;
/// Largest component that is compiled, in bytes.
pub const COMPONENT_BYTES_MAX: usize = 128 << 20;
/// Compiled components kept on disk, all together, in bytes; the oldest go first.
pub const COMPILED_BYTES_MAX: u64 = 4 << 30;
/// Most wakes that one turn may ask for.
pub const TURN_WAKES_MAX: usize = 16;
/// Longest message that a guest reads in an error, in bytes.
pub const ERROR_MESSAGE_BYTES_MAX: usize = 1 << 10;
/// Longest bearer token that is looked at, in bytes.
pub const TOKEN_BYTES_MAX: usize = 8 << 10;
/// Longest subject (`sub`) of a token and of a participant, in bytes.
pub const SUBJECT_BYTES_MAX: usize = 255;
/// Longest id (`jti`) of a token, in bytes.
pub const TOKEN_ID_BYTES_MAX: usize = 128;
/// Most agents that one token can be narrowed to.
pub const TOKEN_AGENTS_MAX: usize = 64;
/// Most words among the authorities of one token, those that mean nothing here included.
pub const TOKEN_AUTHORITIES_MAX: usize = 64;
/// Most public keys that tokens are checked with.
pub const TOKEN_KEYS_MAX: usize = 16;
/// Shortest secret that tokens are signed with, in bytes: as long as what SHA-256 gives.
/// <https://www.rfc-editor.org/rfc/rfc7518#section-3.2>
pub const TOKEN_SECRET_BYTES_MIN: usize = 32;
/// How much clocks may differ where a token begins or ends, in seconds.
pub const TOKEN_LEEWAY_S_MAX: u64 = 300;
/// Largest request that is read into memory as JSON, in bytes.
pub const JSON_BODY_BYTES_MAX: usize = 64 << 10;
/// Request line and fields of one request, in bytes. As many of a body come at a time at most.
pub const REQUEST_HEAD_BYTES_MAX: usize = 128 << 10;
/// How long nothing of a request may come, in milliseconds: of its head as a whole, of its body
/// between two pieces. As long, nothing of an answer may be taken.
pub const REQUEST_IDLE_MS_MAX: u64 = 60_000;
/// How long a store may take to say that it is there, in milliseconds.
pub const READY_MS_MAX: u64 = 5_000;
/// How long what was found out about being ready is told again, in milliseconds.
pub const READY_KNOWN_MS_MAX: u64 = 1_000;
/// Most participants that a session is made with.
pub const SESSION_PARTICIPANTS_MAX: usize = 100;
/// How often is looked for what is to be removed, in milliseconds; a little later or earlier, so that
/// hosts do not do it together.
pub const SWEEP_MS: u64 = 60_000;
/// How often one tick looks at a page of sessions, removes some rows of a kind, or works on files
/// owed to deletion, at most: what is left waits for the next one.
pub const SWEEP_STEPS_MAX: u32 = 64;
/// How often a host looks at all sessions, in milliseconds.
pub const SWEEP_WALK_MS: u64 = 600_000;
/// Sessions that are looked at in one page.
pub const SESSIONS_WALKED_MAX: u32 = 500;
/// Rows that one transaction of a sweep removes, at most.
pub const ROWS_SWEPT_MAX: u64 = 1_000;
/// Turns, sessions or agents that one statement of a sweep names, at most. Answers that ask again are
/// a chain, and SQLite follows one for a thousand rows.
pub const SWEPT_AT_ONCE_MAX: u32 = 250;
/// Bytes of the turns that one transaction of a sweep removes, at most, but for the last of them: each
/// may have texts of several megabytes.
pub const TURN_BYTES_SWEPT_MAX: u64 = 16 << 20;
/// Sessions that one transaction of a sweep asks about and begins with, at most.
pub const SWEEPS_BEGUN_AT_ONCE: usize = 50;
/// How long a sweep rests between two transactions, at most, in milliseconds: it does so for
/// as long as the first one took, where others could not write meanwhile.
pub const SWEEP_PAUSE_MS_MAX: u64 = 100;
/// Transactions that remove rows of what was deleted before whoever asked is answered, at most: the
/// rest goes by and by.
pub const PIECES_REMOVED_AT_ONCE: u32 = 4;
/// Turns that one transaction of a sweep removes the pieces of, at most.
pub const TURNS_SWEPT_MAX: u64 = 20;
/// A file that was written from outside of a turn is noted as activity of its session so much too
/// early at most, in milliseconds: not each one is worth a write to the catalog.
pub const ACTIVITY_KNOWN_MS: u64 = 300_000;
/// How long nothing must have happened in a session before it may go for whatever reason but that
/// somebody asks for it, in milliseconds.
pub const SESSION_QUIET_MS: u64 = 3_600_000;
/// How long whoever works on a deletion may be silent until somebody else goes on with it, in
/// milliseconds.
pub const DELETION_LEASE_MS: u64 = 120_000;
/// How long a deletion rests that failed, in milliseconds, for each time that it was tried.
pub const DELETION_PAUSE_MS: u64 = 30_000;
/// How many of these pauses a deletion rests at most.
pub const DELETION_PAUSES_MAX: u32 = 20;
/// How long pieces of a reply stay after their turn is over, in milliseconds.
pub const PIECES_KEPT_MS: u64 = 86_400_000;
/// How long it stays what a turn asked of its host, in milliseconds.
pub const INVOCATIONS_KEPT_MS: u64 = 86_400_000;
/// How long it stays when a session was woken, in milliseconds.
pub const FIRINGS_KEPT_MS: u64 = 30 * 86_400_000;
/// How often is looked for erasures that were asked for elsewhere, in milliseconds.
pub const ERASING_MS: u64 = 10_000;
/// How often erasures are gone on with, in milliseconds, while there is one that is not proved.
pub const ERASING_OPEN_MS: u64 = 2_000;
/// How long before its deadline an erasure that is not proved is warned of, in milliseconds.
pub const ERASURE_WARNED_MS: u64 = 3 * 24 * 60 * 60 * 1000;
/// How long after that it is warned of again, in milliseconds.
pub const ERASURE_WARNED_AGAIN_MS: u64 = 60 * 60 * 1000;
/// Most turns of what is to be erased that are stopped at a time.
pub const ERASED_TURNS_STOPPED_MAX: u32 = 1_000;
/// Most promoted copies that a receipt lists.
pub const RECEIPT_PROMOTIONS_MAX: u32 = 1_000;
/// Most lifecycle rules of a bucket.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lifecycle-mgmt.html>
pub const LIFECYCLE_RULES_MAX: usize = 1000;
/// How often all of what was deleted is gone through at most, until a pass finds nothing.
pub const EMPTYING_PASSES_MAX: usize = 10;
/// Fields of one request.
pub const REQUEST_FIELDS_MAX: usize = 64;
/// Bytes of a file that the HTTP API hands on at a time.
pub const BODY_PIECE_BYTES: u32 = 256 << 10;
/// Most files of one archive.
pub const ARCHIVE_FILES_MAX: usize = 100_000;
/// Archives that are made at once: each holds the names of its files.
pub const HOST_ARCHIVES_MAX: usize = 8;
/// Components that are held in memory at once while they are uploaded, each up to
/// [`COMPONENT_BYTES_MAX`].
pub const HOST_COMPONENT_UPLOADS_MAX: usize = 2;
/// Versions of skills that are published at once: each holds up to 10 MiB of its files.
pub const HOST_PUBLISHES_MAX: usize = 4;
/// What comes before the bytes of a part of a body, in bytes, and what is between two parts.
pub const PART_HEAD_BYTES_MAX: usize = 64 << 10;
/// Largest body that a version of a skill comes in, in bytes.
pub const SKILL_BODY_BYTES_MAX: u64 =
    (SKILL_FILES_MAX * (SKILL_FILE_BYTES_MAX + PART_HEAD_BYTES_MAX)) as u64;
/// Results to be spilled that are held in memory at once, each up to
/// [`WRITE_BYTES_MAX`].
pub const HOST_SPILLS_MAX: usize = 4;

/// Host memory that one call of a guest may make the host allocate, in bytes. The engine
/// traps above it, so it is the largest legal call and a margin for its other arguments.
pub const HOSTCALL_BYTES_MAX: usize = 2 * WRITE_BYTES_MAX + (1 << 20);

const _: () = assert!(WRITE_BYTES_MAX <= HOSTCALL_BYTES_MAX);
// `text.replace` takes two texts, each at most the file that it edits.
const _: () = assert!(2 * EDIT_BYTES_MAX <= HOSTCALL_BYTES_MAX);
const _: () = assert!(WRITER_CALL_BYTES_MAX <= WRITE_BYTES_MAX);
const _: () = assert!(READ_BYTES_MAX as usize <= WRITE_BYTES_MAX);
const _: () = assert!(TEXT_SLICE_BYTES_MAX <= READ_BYTES_MAX as usize);
const _: () = assert!(STREAM_PIECE_BYTES <= WRITER_CALL_BYTES_MAX);
const _: () = assert!(STREAM_PIECE_BYTES <= READ_BYTES_MAX as usize);
const _: () = assert!(READ_FIRST_BYTES <= READ_BYTES_MAX);
const _: () = assert!(FOLDER_READ_BYTES_MAX <= READ_BYTES_MAX);
const _: () = assert!(GATHERED_HELD_BYTES_MAX as usize <= WRITE_BYTES_MAX);
const _: () = assert!(GATHERED_PIECE_BYTES <= WRITER_CALL_BYTES_MAX);
// What a file is is found in what comes when it is opened.
const _: () = assert!(SNIFF_BYTES <= READ_FIRST_BYTES);
const _: () = assert!(BODY_PIECE_BYTES <= READ_BYTES_MAX);
// A legal path, percent-encoded, and a token fit into a request's head.
const _: () = assert!(3 * (PATH_REST_BYTES_MAX + 256) + TOKEN_BYTES_MAX < REQUEST_HEAD_BYTES_MAX);
const _: () = assert!(BLOB_KEPT_BYTES_MAX < BLOBS_KEPT_BYTES_MAX as u64);
// Reads of the longest kind come in one block each.
const _: () = assert!(READ_BYTES_MAX as u64 <= READ_AHEAD_BLOCK_BYTES_MAX);
const _: () = assert!(READ_BYTES_MAX as u64 <= READ_AHEAD_BYTES_MAX);

/// What one turn and one host may use. [`Default`] is the deployment's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memories of a guest, all together, in bytes.
    pub guest_memory_bytes_max: usize,
    /// Linear memories of all guests of a host, together, in bytes.
    pub host_guest_memory_bytes_max: usize,
    /// Tables of a guest, all together, in elements.
    pub guest_table_elements_max: usize,
    /// Core instances of one guest.
    pub guest_instances_max: usize,
    /// Component handles (readers and writers among them) of one guest.
    pub guest_handles_max: usize,
    /// Open readers of one turn.
    pub turn_readers_max: usize,
    /// Open writers of one turn.
    pub turn_writers_max: usize,
    /// Store operations in flight, one turn.
    pub turn_operations_max: usize,
    /// Store operations in flight, whole host.
    pub host_operations_max: usize,
    /// Calls of one turn that are under way, those that wait for their turn included.
    pub turn_calls_max: usize,
    /// Arguments of the calls of one turn that are under way, all together, in bytes.
    pub turn_call_bytes_max: usize,
    /// File bytes held by the host, one turn. A file being written has up to 16 MiB of it,
    /// and those that are spare if it has them to itself.
    pub turn_buffer_bytes_max: usize,
    /// File bytes held by the host, all turns.
    pub host_buffer_bytes_max: usize,
    /// Bytes of files that one turn writes through folders and that are not stored yet.
    pub turn_gathered_bytes_max: u64,
    /// The same of all turns of a host.
    pub host_gathered_bytes_max: u64,
    /// Those of them that are held in memory, one turn; what is more goes to temporary files.
    pub turn_gathered_held_bytes_max: u64,
    /// The same of all turns of a host.
    pub host_gathered_held_bytes_max: u64,
    /// How long a call waits for room on the host before it answers `busy`, in milliseconds.
    pub busy_ms_max: u64,
    /// Longest store operation without progress, in milliseconds.
    pub operation_ms_max: u64,
    /// Longest copy within the store, and longest completion of a written file, in milliseconds:
    /// both take as long as the file is large.
    pub transfer_ms_max: u64,
    /// Wall clock of one turn, in milliseconds.
    pub turn_ms_max: u64,
    /// How long a cancelled turn may go on until it is ended, in milliseconds.
    pub cancel_ms_max: u64,
    /// How long the host of a turn may be silent until the turn is given up as dead, in
    /// milliseconds. Longer than [`Self::transfer_ms_max`] by what a renewal may be late, so that
    /// no store operation begun under a lease outlives it.
    pub turn_lease_ms: u64,
    /// How often a computing guest lets others run, in milliseconds.
    pub epoch_ms: u64,
    /// Log lines of one turn, all together, in bytes.
    pub log_bytes_max: usize,
    /// Longest single log line, in bytes.
    pub log_line_bytes_max: usize,
    /// A result of more bytes than this is spilled.
    pub spill_bytes_min: usize,
    /// Turns that run at once.
    pub host_turns_max: usize,
    /// Readers of events over HTTP at once.
    pub host_followers_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            guest_memory_bytes_max: 256 << 20,
            host_guest_memory_bytes_max: 8 << 30,
            guest_table_elements_max: 100_000,
            guest_instances_max: 200,
            guest_handles_max: 4096,
            turn_readers_max: 64,
            turn_writers_max: 16,
            turn_operations_max: 16,
            host_operations_max: 256,
            turn_calls_max: 1_024,
            turn_call_bytes_max: 33 << 20,
            turn_buffer_bytes_max: 64 << 20,
            host_buffer_bytes_max: 256 << 20,
            turn_gathered_bytes_max: 8 << 30,
            host_gathered_bytes_max: 64 << 30,
            turn_gathered_held_bytes_max: 8 << 20,
            host_gathered_held_bytes_max: 256 << 20,
            busy_ms_max: 5_000,
            operation_ms_max: 30_000,
            transfer_ms_max: 300_000,
            turn_ms_max: 600_000,
            cancel_ms_max: 10_000,
            turn_lease_ms: 360_000,
            epoch_ms: 10,
            log_bytes_max: 1 << 20,
            log_line_bytes_max: 16 << 10,
            spill_bytes_min: 32 << 10,
            host_turns_max: 1_000,
            host_followers_max: 10_000,
        }
    }
}

impl Limits {
    /// How long a change of the store that was begun may take until it has taken effect or never will,
    /// in milliseconds.
    pub fn change_ms_max(&self) -> u64 {
        self.busy_ms_max.saturating_add(self.transfer_ms_max.max(self.operation_ms_max))
    }
}
