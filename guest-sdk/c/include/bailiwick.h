/* Write agent guests for Bailiwick in C.
 *
 * A guest is one function, `bw_turn`: it takes what the caller sent and returns the reply. Between the
 * two it keeps files in the few places that the host gave its turn: `session/...` lives as long as the
 * conversation, `agent/...` as long as the agent, `workspace/...` is shared by the workspace's agents,
 * and `skill/<slug>/...` is a read-only package. Plain files work as well: to `fopen` and `readdir` the
 * scopes are the folders /session, /agent, /workspace and /skill.
 *
 * Texts that go in are UTF-8 and end in a NUL. What comes out is the caller's, to be freed by the
 * function that stands with it; what is all zeros may be freed, too. A function that returns `bool` did
 * what it says, or says in `error` why not; `error`, and any answer, may be NULL.
 */

#ifndef BAILIWICK_H
#define BAILIWICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Refusals ---- */

/* What kind of refusal. */
typedef enum bw_code {
  /* The path names no scope; the suggestions are the same path under each scope. */
  BW_NO_SCOPE,
  /* A malformed argument: a path, cursor, pattern or bound. */
  BW_INVALID,
  /* The grant does not allow it. The same whether or not the file exists. */
  BW_DENIED,
  BW_NOT_FOUND,
  /* A precondition failed: the file exists, is gone, or has another revision. */
  BW_CONFLICT,
  /* The text to replace does not stand there, or not exactly once. */
  BW_NO_MATCH,
  /* Over a bound or a quota; the message names it. */
  BW_TOO_LARGE,
  /* Text was asked of a file that has none. */
  BW_NO_TEXT,
  /* The text of a document is still being read out. Ask again. */
  BW_TEXT_PENDING,
  /* The handle was finished, closed, or poisoned by an earlier error. */
  BW_CLOSED,
  /* This store or this host cannot do it. */
  BW_UNSUPPORTED,
  /* The host is short of memory, handles or connections. Ask again shortly. */
  BW_BUSY,
  /* Storage did not answer. The message says whether anything may have changed. */
  BW_UNAVAILABLE,
} bw_code;

/* A host call that was refused or failed. */
typedef struct bw_error {
  bw_code code;
  /* A stable word within the code, such as `climbs-out`; new ones may come. */
  char *reason;
  /* One or two sentences that a model can act on. */
  char *message;
  /* Paths to try instead. */
  char **suggestions;
  size_t suggestion_count;
} bw_error;

void bw_error_free(bw_error *error);

/* The name of a code in the contract, such as `not-found`. */
const char *bw_code_name(bw_code code);

/* The message, and the paths to try instead: what to put in front of a model. To be freed. */
char *bw_advice(const bw_error *error);

/* ---- The turn ---- */

/* What the caller sent. */
typedef struct bw_request {
  const char *input;
  /* Bytes of the input: there may be a NUL in it. */
  size_t input_length;
  /* On the turn that resumes a parked one: what the person answered. Else NULL. */
  const char *answer;
  /* 1 on the first try; more when a host died during an earlier one. */
  uint32_t attempt;
} bw_request;

/* How a turn ends. */
typedef struct bw_outcome {
  enum { BW_REPLY, BW_PARK, BW_FAIL } kind;
  /* To be freed by whoever has it. */
  char *text;
} bw_outcome;

/* The guest: written by you. */
bw_outcome bw_turn(const bw_request *request);

/* Done. */
bw_outcome bw_reply(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Waiting for a person: the question. The session's next turn carries the answer. */
bw_outcome bw_park(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A failure that the guest itself reports. */
bw_outcome bw_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A failure for this refusal, which is freed. */
bw_outcome bw_fail_by(bw_error *error);

/* ---- Files ---- */

/* A stored file. */
typedef struct bw_file {
  char *path;
  /* Bytes. */
  uint64_t size;
  /* Opaque. Equal revisions of a path mean equal bytes; compare for equality only. */
  char *revision;
  /* Milliseconds since the Unix epoch, UTC. */
  uint64_t modified_ms;
  char *media_type;
} bw_file;

void bw_file_free(bw_file *file);

/* Bytes, with a NUL behind them that does not count. */
typedef struct bw_bytes {
  char *data;
  size_t length;
} bw_bytes;

void bw_bytes_free(bw_bytes *bytes);

/* When a write may take effect: all zeros is always. */
typedef struct bw_condition {
  /* Only if nothing is there. */
  bool if_absent;
  /* Only if the file still has this revision; goes before `if_absent`. */
  const char *if_revision;
} bw_condition;

extern const bw_condition BW_ALWAYS;
extern const bw_condition BW_IF_ABSENT;

/* One place that the turn can reach. */
typedef struct bw_mount {
  /* Starts every path in it, such as `agent`. */
  char *name;
  bool is_writable;
} bw_mount;

/* What this turn can reach; answers how many. */
size_t bw_mounts(bw_mount **mounts);
void bw_mounts_free(bw_mount *mounts, size_t count);

/* A part of a file. */
typedef struct bw_chunk {
  bw_bytes bytes;
  /* Of the whole file. */
  uint64_t size;
  /* The same over several reads means that they are parts of one content. */
  char *revision;
} bw_chunk;

void bw_chunk_free(bw_chunk *chunk);

/* Up to `length` bytes from `offset`, at most 4 MiB. Fewer only at the end of the file; none at or past
 * it. */
bool bw_read(const char *path, uint64_t offset, uint32_t length, bw_chunk *chunk, bw_error *error);
/* The whole of a file, of one revision, however many calls that takes. */
bool bw_read_all(const char *path, bw_bytes *bytes, bw_error *error);
/* Creates or replaces a file, whole, of any size. All or nothing. */
bool bw_write(const char *path, const void *data, size_t length, bw_condition condition, bw_file *file,
              bw_error *error);
/* Removes a file. Of the condition, the revision counts. */
bool bw_delete(const char *path, bw_condition condition, bw_error *error);
bool bw_stat(const char *path, bw_file *file, bw_error *error);
/* Copies within what the turn can reach, without the bytes passing through the guest; the condition is
 * on the target. */
bool bw_copy(const char *source, const char *target, bw_condition condition, bw_file *file,
             bw_error *error);
/* A copy of the source as it is now, then its deletion if it is still the same. */
bool bw_move(const char *source, const char *target, bw_condition condition, bw_file *file,
             bw_error *error);

/* One page of a listing. */
typedef struct bw_page {
  bw_file *files;
  size_t file_count;
  /* Folders directly under this one, each ending in `/`; only where not all is listed. */
  char **folders;
  size_t folder_count;
  /* Pass back as `after` to go on; NULL on the last page. A page may be empty and not last. */
  char *next;
} bw_page;

void bw_page_free(bw_page *page);

/* How deep a listing goes. */
typedef enum bw_depth { BW_CHILDREN, BW_ALL } bw_depth;

/* One page of at most `limit` (1 to 1000) files under a folder; the empty folder is every place that
 * the turn can reach. `after` is NULL for the first. */
bool bw_list_page(const char *folder, bw_depth depth, const char *after, uint32_t limit, bw_page *page,
                  bw_error *error);

/* A listing that goes on by itself, as `readdir` does. */
typedef struct bw_listing bw_listing;

bw_listing *bw_list(const char *folder);
/* The next file under the folder, which belongs to the listing; NULL at the end, or at a refusal, and
 * then `error` is filled (its message is NULL at the end). */
const bw_file *bw_list_next(bw_listing *listing, bw_error *error);
void bw_list_close(bw_listing *listing);

/* ---- Files of any size ---- */

/* A file being read, pinned to the revision it was opened at. */
typedef struct bw_reader bw_reader;

bw_reader *bw_open(const char *path, bw_error *error);
/* The file, as it was when it was opened; it belongs to the reader. */
const bw_file *bw_reader_file(const bw_reader *reader);
/* Up to `length` bytes, at most 4 MiB; none at the end. */
bool bw_reader_read(bw_reader *reader, uint32_t length, bw_bytes *bytes, bw_error *error);
void bw_reader_seek(bw_reader *reader, uint64_t offset);
/* Gives the host's handle back early: reading is refused from here on. */
void bw_reader_close(bw_reader *reader);
void bw_reader_free(bw_reader *reader);

/* A file being written. Nothing is at the path until `bw_writer_finish`. */
typedef struct bw_writer bw_writer;

bw_writer *bw_create(const char *path, bw_condition condition, bw_error *error);
/* Appends, any amount: gather small pieces. After an error nothing will come of the writer. */
bool bw_writer_write(bw_writer *writer, const void *data, size_t length, bw_error *error);
/* Makes the file: from here on it is at its path, whole, and the writer takes no more. */
bool bw_writer_finish(bw_writer *writer, bw_file *file, bw_error *error);
/* Gives the file up, and the writer takes no more. */
void bw_writer_abort(bw_writer *writer);
/* Frees the writer, and gives up a file that was not finished. */
void bw_writer_free(bw_writer *writer);

/* ---- Text, done by the host ---- */

/* Lines of a text. */
typedef struct bw_slice {
  bw_bytes text;
  bool has_next;
  /* The byte offset of the next slice. */
  uint64_t next;
  char *revision;
} bw_slice;

void bw_slice_free(bw_slice *slice);

/* Up to `lines` whole lines, at most 256 KiB, of a text file or of the text read out of a document, from
 * a line, counted from 1. */
bool bw_text_read(const char *path, uint32_t line, uint32_t lines, bw_slice *slice, bw_error *error);
/* The same from the byte offset that an earlier slice gave. */
bool bw_text_read_on(const char *path, uint64_t offset, uint32_t lines, bw_slice *slice, bw_error *error);
/* Replaces text that stands exactly once in a file, or, with `every`, at least once. Of the condition,
 * the revision counts. */
bool bw_text_replace(const char *path, const char *old, const char *replacement, bool every,
                     bw_condition condition, bw_file *file, bw_error *error);
/* Appends to a file, creating it if absent. Two appends never lose one another. */
bool bw_text_append(const char *path, const char *text, bw_file *file, bw_error *error);

/* A line that matches. */
typedef struct bw_match {
  char *path;
  /* From 1. */
  uint32_t line;
  char *text;
} bw_match;

/* One page of a search; it may be empty and not last. */
typedef struct bw_matches {
  bw_match *found;
  size_t count;
  /* Pass back as `after` to go on; NULL on the last page. */
  char *next;
} bw_matches;

void bw_matches_free(bw_matches *matches);

/* Lines that match a regular expression (syntax of the Rust `regex` crate) in the files under a folder,
 * and of those only in files like `glob`, unless it is NULL. */
bool bw_text_search(const char *folder, const char *glob, const char *pattern, const char *after,
                    uint32_t limit, bw_matches *matches, bw_error *error);

/* ---- Results too large to show ---- */

/* What is left to show of a result that was kept. */
typedef struct bw_spilled {
  /* What to put in front of the model. */
  bw_bytes text;
  /* Where the whole of it is, under `session/spill/`; NULL if it fitted. */
  char *path;
  uint64_t size;
} bw_spilled;

void bw_spilled_free(bw_spilled *spilled);

/* Keeps a result where it is found again; `name` becomes part of the file's name (`table.csv`). */
bool bw_spill(const char *name, const void *data, size_t length, bw_spilled *spilled, bw_error *error);

/* ---- The conversation ---- */

/* A piece of the reply, shown while the turn still runs. */
bool bw_say(const char *part, bw_error *error);
/* Runs another turn of this session, with this input, once `after_ms` have passed. At most 16 a turn:
 * one too many is `too-large`. */
bool bw_wake(uint64_t after_ms, const char *input, bw_error *error);
/* Whether somebody asked this turn to stop. */
bool bw_is_cancelled(void);
/* Milliseconds of wall clock left before the host ends the turn. */
uint64_t bw_remaining_ms(void);

typedef enum bw_level { BW_DEBUG, BW_INFO, BW_WARN, BW_ERROR } bw_level;

/* A line on the guest's own work, kept with the turn. */
void bw_log(bw_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Tools for a language model ---- */

/* The definitions of the tools, for the request to a model: an array of JSON with `name`, `description`
 * and `input_schema` of each. To be freed. */
char *bw_tools(void);

/* What a tool answered, for the model. */
typedef struct bw_answer {
  /* To be freed. */
  char *content;
  bool is_error;
} bw_answer;

/* Does what a model asked for: the name of a tool and its arguments, as JSON. What goes wrong is
 * answered in words that the model can act on. */
bw_answer bw_dispatch(const char *name, const char *arguments);

#ifdef __cplusplus
}
#endif

#endif
