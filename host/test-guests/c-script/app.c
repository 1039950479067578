/* Does the calls that its input names, as the guest `script` does, and calls one tool, as the guest
 * `tools` does: both as the SDK for C has them. */

#include <bailiwick.h>
#include <bailiwick_json.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The handles that steps opened, by name. */
typedef struct handle {
  char name[16];
  bw_reader *reader;
  bw_writer *writer;
} handle;

typedef struct turn {
  handle handles[8];
  size_t handle_count;
  /* What the steps answered, as JSON. */
  bw_buffer answers;
} turn;

static handle *handle_of(turn *t, const char *name) {
  for (size_t place = 0; place < t->handle_count; place++)
    if (strcmp(t->handles[place].name, name) == 0) return &t->handles[place];
  return NULL;
}

static handle *new_handle(turn *t, const char *name) {
  if (t->handle_count == sizeof t->handles / sizeof *t->handles || strlen(name) > 15) abort();
  handle *made = &t->handles[t->handle_count++];
  strcpy(made->name, name);
  return made;
}

static void add_string(bw_buffer *json, const char *text) { bw_add_json_string(json, text, strlen(text)); }

static void add_error(bw_buffer *json, const bw_error *error) {
  bw_addf(json, "{\"error\":{\"code\":\"%s\",\"reason\":", bw_code_name(error->code));
  add_string(json, error->reason);
  bw_addf(json, ",\"message\":");
  add_string(json, error->message);
  bw_addf(json, ",\"suggestions\":[");
  for (size_t place = 0; place < error->suggestion_count; place++) {
    if (place > 0) bw_addf(json, ",");
    add_string(json, error->suggestions[place]);
  }
  bw_addf(json, "]}}");
}

static bool add_file(bw_buffer *json, bw_file *file) {
  bw_addf(json, "{\"ok\":{\"path\":");
  add_string(json, file->path);
  bw_addf(json, ",\"size\":%" PRIu64 ",\"revision\":", file->size);
  add_string(json, file->revision);
  bw_addf(json, "}}");
  bw_file_free(file);
  return true;
}

static bool add_done(bw_buffer *json) {
  bw_addf(json, "{\"ok\":null}");
  return true;
}

static bool add_bytes(bw_buffer *json, bw_bytes *bytes) {
  size_t tail = bytes->length < 8 ? bytes->length : 8;
  bw_addf(json, "{\"ok\":{\"length\":%zu,\"tail\":", bytes->length);
  bw_add_json_string(json, bytes->data + bytes->length - tail, tail);
  bw_addf(json, "}}");
  bw_bytes_free(bytes);
  return true;
}

static const char *text_of(const bw_json *step, const char *name) { return bw_json_string(step, name); }

static uint64_t count_of(const bw_json *step, const char *name, uint64_t otherwise) {
  const bw_json *value = bw_json_member(step, name);
  return value != NULL && value->kind == BW_JSON_NUMBER ? value->natural : otherwise;
}

static bw_condition condition_of(const bw_json *step) {
  if (text_of(step, "if") != NULL) return BW_IF_ABSENT;
  return (bw_condition){.if_revision = text_of(bw_json_member(step, "if"), "revision")};
}

/* The bytes of a step: a text, or so many of one that is repeated. */
static bw_bytes bytes_of(const bw_json *step) {
  const bw_json *given = bw_json_member(step, "bytes");
  bool is_text = given->kind == BW_JSON_STRING;
  const bw_json *fill = is_text ? given : bw_json_member(given, "fill");
  size_t length = is_text ? given->length : (size_t)count_of(given, "size", 0);
  char *data = malloc(length + 1);
  if (data == NULL) abort();
  for (size_t place = 0; place < length; place++) data[place] = fill->text[place % fill->length];
  return (bw_bytes){data, length};
}

static bool do_write(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_file file;
  bw_bytes bytes = bytes_of(step);
  bool is_done =
      bw_write(text_of(step, "path"), bytes.data, bytes.length, condition_of(step), &file, error);
  bw_bytes_free(&bytes);
  return is_done && add_file(json, &file);
}

static bool do_read(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_chunk chunk;
  uint32_t length = (uint32_t)count_of(step, "length", 4 << 20);
  if (!bw_read(text_of(step, "path"), count_of(step, "offset", 0), length, &chunk, error)) return false;
  add_bytes(json, &chunk.bytes);
  bw_chunk_free(&chunk);
  return true;
}

static bool do_read_all(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_bytes bytes;
  return bw_read_all(text_of(step, "path"), &bytes, error) && add_bytes(json, &bytes);
}

static bool do_delete(const bw_json *step, bw_buffer *json, bw_error *error) {
  return bw_delete(text_of(step, "path"), condition_of(step), error) && add_done(json);
}

static bool do_stat(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_file file;
  return bw_stat(text_of(step, "path"), &file, error) && add_file(json, &file);
}

static bool do_copy(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_file file;
  const char *source = text_of(step, "source"), *target = text_of(step, "target");
  return bw_copy(source, target, condition_of(step), &file, error) && add_file(json, &file);
}

static bool do_move(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_file file;
  const char *source = text_of(step, "source"), *target = text_of(step, "target");
  return bw_move(source, target, condition_of(step), &file, error) && add_file(json, &file);
}

static bool do_list(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_listing *listing = bw_list(text_of(step, "folder"));
  bw_buffer paths = {0};
  const bw_file *file;
  while ((file = bw_list_next(listing, error)) != NULL) {
    if (paths.length > 0) bw_addf(&paths, ",");
    add_string(&paths, file->path);
  }
  bw_list_close(listing);
  bool is_whole = error->message == NULL;
  if (is_whole) bw_addf(json, "{\"ok\":{\"paths\":[%s]}}", paths.length > 0 ? paths.text : "");
  free(paths.text);
  return is_whole;
}

static bool do_text_read(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_slice slice;
  uint32_t line = (uint32_t)count_of(step, "line", 1), lines = (uint32_t)count_of(step, "lines", 1000);
  if (!bw_text_read(text_of(step, "path"), line, lines, &slice, error)) return false;
  bw_addf(json, "{\"ok\":{\"text\":");
  bw_add_json_string(json, slice.text.data, slice.text.length);
  bw_addf(json, "}}");
  bw_slice_free(&slice);
  return true;
}

static bool do_replace(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_file file;
  const char *path = text_of(step, "path"), *old = text_of(step, "old"), *new = text_of(step, "new");
  return bw_text_replace(path, old, new, false, condition_of(step), &file, error) && add_file(json, &file);
}

static bool do_append(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_file file;
  return bw_text_append(text_of(step, "path"), text_of(step, "text"), &file, error)
         && add_file(json, &file);
}

static bool do_search(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_matches matches;
  if (!bw_text_search(text_of(step, "folder"), text_of(step, "glob"), text_of(step, "pattern"), NULL, 1000,
                      &matches, error))
    return false;
  bw_addf(json, "{\"ok\":{\"found\":[");
  for (size_t place = 0; place < matches.count; place++) {
    bw_match *match = &matches.found[place];
    bw_addf(json, "%s\"%s:%" PRIu32 "\"", place > 0 ? "," : "", match->path, match->line);
  }
  bw_addf(json, "]}}");
  bw_matches_free(&matches);
  return true;
}

static bool do_spill(const bw_json *step, bw_buffer *json, bw_error *error) {
  bw_spilled spilled;
  bw_bytes bytes = bytes_of(step);
  bool is_kept = bw_spill(text_of(step, "name"), bytes.data, bytes.length, &spilled, error);
  bw_bytes_free(&bytes);
  if (!is_kept) return false;
  bw_addf(json, "{\"ok\":{\"size\":%" PRIu64 ",\"path\":", spilled.size);
  add_string(json, spilled.path != NULL ? spilled.path : "");
  bw_addf(json, "}}");
  bw_spilled_free(&spilled);
  return true;
}

/* The codes with which calls are refused whose text is none; what is said and logged is refused, too. */
static bool do_half(const bw_json *step, bw_buffer *json, bw_error *error) {
  static const char *const halves[] = {"session/\xed\xa0\x80", "session/\xff", "session/\xc0\xaf",
                                       "session/\xf4\x90\x80\x80", "session/\xe2\x82"};
  (void)step;
  bw_addf(json, "{\"ok\":{\"refused\":[");
  for (size_t place = 0; place < sizeof halves / sizeof *halves; place++) {
    bool is_refused = !bw_stat(halves[place], NULL, error);
    bw_addf(json, "%s\"%s\"", place > 0 ? "," : "", is_refused ? bw_code_name(error->code) : "none");
    if (is_refused) bw_error_free(error);
  }
  bool is_said = bw_say(halves[0], NULL) || bw_stat(NULL, NULL, NULL);
  bw_log(BW_INFO, "%s", halves[1]);
  bw_addf(json, "],\"said\":%s}}", is_said ? "true" : "false");
  return true;
}

static const struct {
  const char *name;
  bool (*run)(const bw_json *, bw_buffer *, bw_error *);
} VERBS[] = {
    {"write", do_write},         {"read", do_read},     {"read-all", do_read_all}, {"delete", do_delete},
    {"stat", do_stat},           {"copy", do_copy},     {"move", do_move},         {"list", do_list},
    {"text-read", do_text_read}, {"replace", do_replace}, {"append", do_append},   {"search", do_search},
    {"spill", do_spill},         {"half", do_half},
};

/* What handles do. */
static bool do_handled(turn *t, const char *verb, const bw_json *step, bw_error *error) {
  const char *name = text_of(step, "as") != NULL ? text_of(step, "as") : text_of(step, "on");
  if (strcmp(verb, "open-reader") == 0) {
    bw_reader *reader = bw_open(text_of(step, "path"), error);
    if (reader == NULL) return false;
    new_handle(t, name)->reader = reader;
    return add_done(&t->answers);
  }
  if (strcmp(verb, "open-writer") == 0) {
    bw_writer *writer = bw_create(text_of(step, "path"), condition_of(step), error);
    if (writer == NULL) return false;
    new_handle(t, name)->writer = writer;
    return add_done(&t->answers);
  }
  handle *used = handle_of(t, name);
  if (strcmp(verb, "reader-read") == 0) {
    bw_bytes bytes;
    return bw_reader_read(used->reader, (uint32_t)count_of(step, "length", 0), &bytes, error)
           && add_bytes(&t->answers, &bytes);
  }
  if (strcmp(verb, "reader-close") == 0) {
    bw_reader_close(used->reader);
    return add_done(&t->answers);
  }
  if (strcmp(verb, "writer-write") == 0) {
    bw_bytes bytes = bytes_of(step);
    bool is_done = bw_writer_write(used->writer, bytes.data, bytes.length, error);
    bw_bytes_free(&bytes);
    return is_done && add_done(&t->answers);
  }
  if (strcmp(verb, "writer-abort") == 0) {
    bw_writer_abort(used->writer);
    return add_done(&t->answers);
  }
  bw_file file;
  return bw_writer_finish(used->writer, &file, error) && add_file(&t->answers, &file);
}

static void perform(turn *t, const bw_json *step) {
  bw_error error = {0};
  const char *verb = text_of(step, "do");
  for (size_t place = 0; place < sizeof VERBS / sizeof *VERBS; place++) {
    if (strcmp(VERBS[place].name, verb) != 0) continue;
    if (!VERBS[place].run(step, &t->answers, &error)) add_error(&t->answers, &error);
    bw_error_free(&error);
    return;
  }
  if (!do_handled(t, verb, step, &error)) add_error(&t->answers, &error);
  bw_error_free(&error);
}

static bw_outcome perform_all(const bw_json *steps) {
  turn t = {0};
  bw_addf(&t.answers, "[");
  for (const bw_json *step = steps->first; step != NULL; step = step->next) {
    perform(&t, step);
    if (step->next != NULL) bw_addf(&t.answers, ",");
  }
  bw_addf(&t.answers, "]");
  for (size_t place = 0; place < t.handle_count; place++) {
    bw_reader_free(t.handles[place].reader);
    bw_writer_free(t.handles[place].writer);
  }
  bw_outcome outcome = bw_reply("%s", t.answers.text);
  free(t.answers.text);
  return outcome;
}

/* The arguments of a call as text, which they may be already. */
static bw_outcome call(const char *name, const char *arguments) {
  bw_answer answer = bw_dispatch(name, arguments);
  bw_buffer json = {0};
  bw_addf(&json, "{\"content\":");
  add_string(&json, answer.content);
  bw_addf(&json, ",\"is_error\":%s}", answer.is_error ? "true" : "false");
  bw_outcome outcome = bw_reply("%s", json.text);
  free(json.text);
  free(answer.content);
  return outcome;
}

/* Writes a value of arguments as JSON again. */
static void add_value(bw_buffer *json, const bw_json *value) {
  switch (value->kind) {
    case BW_JSON_STRING: bw_add_json_string(json, value->text, value->length); return;
    case BW_JSON_NUMBER: bw_addf(json, "%.17g", value->number); return;
    case BW_JSON_TRUE: bw_addf(json, "true"); return;
    case BW_JSON_FALSE: bw_addf(json, "false"); return;
    case BW_JSON_NULL: bw_addf(json, "null"); return;
    case BW_JSON_ARRAY:
    case BW_JSON_OBJECT: break;
  }
  bool is_object = value->kind == BW_JSON_OBJECT;
  bw_addf(json, is_object ? "{" : "[");
  for (const bw_json *each = value->first; each != NULL; each = each->next) {
    if (is_object) {
      add_string(json, each->name);
      bw_addf(json, ":");
    }
    add_value(json, each);
    if (each->next != NULL) bw_addf(json, ",");
  }
  bw_addf(json, is_object ? "}" : "]");
}

bw_outcome bw_turn(const bw_request *request) {
  const char *fault;
  bw_json *asked = bw_json_read(request->input, request->input_length, &fault);
  if (asked == NULL) return bw_fail("the input is not JSON: %s", fault);
  if (asked->kind == BW_JSON_ARRAY) {
    bw_outcome outcome = perform_all(asked);
    bw_json_free(asked);
    return outcome;
  }
  const char *name = text_of(asked, "name");
  const bw_json *arguments = bw_json_member(asked, "arguments");
  if (name == NULL) {
    char *tools = bw_tools();
    bw_outcome outcome = bw_reply("%s", tools);
    free(tools);
    bw_json_free(asked);
    return outcome;
  }
  bw_buffer json = {0};
  if (arguments != NULL && arguments->kind != BW_JSON_STRING) add_value(&json, arguments);
  const char *text = arguments != NULL && arguments->kind == BW_JSON_STRING ? arguments->text : json.text;
  bw_outcome outcome = call(name, text);
  free(json.text);
  bw_json_free(asked);
  return outcome;
}
