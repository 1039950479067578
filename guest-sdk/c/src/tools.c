#include "tools.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_string(bw_buffer *json, const char *text) { bw_add_json_string(json, text, strlen(text)); }

static void add_schema(bw_buffer *json, const parameter *each) {
  static const char *const types[] = {"string", "boolean", "integer"};
  bw_addf(json, "{\"type\":\"%s\"", types[each->kind]);
  if (each->kind == COUNT)
    bw_addf(json, ",\"minimum\":%" PRIu64 ",\"maximum\":%" PRIu64, each->least, each->most);
  bw_addf(json, ",\"description\":");
  add_string(json, each->description);
  bw_addf(json, "}");
}

static void add_definition(bw_buffer *json, const verb *tool) {
  bw_addf(json, "{\"name\":\"%s\",\"description\":", tool->name);
  add_string(json, tool->description);
  bw_addf(json, ",\"input_schema\":{\"type\":\"object\",\"properties\":{");
  for (const parameter *each = tool->parameters; each->name != NULL; each++) {
    bw_addf(json, "%s\"%s\":", each == tool->parameters ? "" : ",", each->name);
    add_schema(json, each);
  }
  bw_addf(json, "},\"required\":[");
  const char *comma = "";
  for (const parameter *each = tool->parameters; each->name != NULL; each++) {
    if (!each->is_required) continue;
    bw_addf(json, "%s\"%s\"", comma, each->name);
    comma = ",";
  }
  bw_addf(json, "],\"additionalProperties\":false}}");
}

char *bw_tools(void) {
  bw_buffer json = {0};
  for (size_t place = 0; place < bw_verb_count; place++) {
    bw_addf(&json, place == 0 ? "[" : ",");
    add_definition(&json, &bw_verbs[place]);
  }
  bw_addf(&json, "]");
  return bw_taken(&json);
}

/* ---- Dispatch ---- */

static void add_noun(bw_buffer *said, const parameter *each) {
  if (each->kind == COUNT)
    bw_addf(said, "a whole number from %" PRIu64 " to %" PRIu64, each->least, each->most);
  else
    bw_addf(said, each->kind == FLAG ? "true or false" : "a string");
}

/* What a tool takes, in a sentence. */
static void add_usage(bw_buffer *said, const verb *tool) {
  bw_addf(said, " `%s` takes ", tool->name);
  for (const parameter *each = tool->parameters; each->name != NULL; each++) {
    bw_addf(said, "%s`%s` (", each == tool->parameters ? "" : ", ", each->name);
    add_noun(said, each);
    bw_addf(said, each->is_required ? ", required)" : ", optional)");
  }
  bw_addf(said, ".");
}

static const parameter *parameter_of(const verb *tool, const char *name) {
  for (const parameter *each = tool->parameters; each->name != NULL; each++)
    if (strcmp(each->name, name) == 0) return each;
  return NULL;
}

static bool admits(const parameter *each, const bw_json *value) {
  switch (each->kind) {
    // A text with a NUL in it would be another one to what takes it.
    case TEXT: return value->kind == BW_JSON_STRING && strlen(value->text) == value->length;
    case FLAG: return value->kind == BW_JSON_TRUE || value->kind == BW_JSON_FALSE;
    case COUNT:
      return value->kind == BW_JSON_NUMBER && value->is_natural && value->natural >= each->least
             && value->natural <= each->most;
  }
  return false;
}

static bool is_there(const bw_json *value) { return value != NULL && value->kind != BW_JSON_NULL; }

/* Whether the arguments are each declared, of its kind, and none that is required missing; or says what
 * is wrong. */
static bool check(const verb *tool, const bw_json *arguments, bw_buffer *said) {
  for (const bw_json *value = arguments->first; value != NULL; value = value->next) {
    if (!is_there(value) || parameter_of(tool, value->name) != NULL) continue;
    bw_addf(said, "There is no argument `%s`.", value->name);
    return false;
  }
  for (const parameter *each = tool->parameters; each->name != NULL; each++) {
    const bw_json *value = bw_json_member(arguments, each->name);
    if (is_there(value) ? admits(each, value) : !each->is_required) continue;
    bw_addf(said, "`%s` is ", each->name);
    if (is_there(value)) {
      bw_addf(said, "not ");
      add_noun(said, each);
      bw_addf(said, ".");
    } else {
      bw_addf(said, "missing.");
    }
    return false;
  }
  return true;
}

/* The arguments; NULL, and what is wrong said, if they are none. No text at all is none, which some
 * models send so. */
static bw_json *parsed(const verb *tool, const char *json, bw_buffer *said) {
  const char *fault;
  if (json == NULL || json[strspn(json, " \t\r\n")] == 0) json = "{}";
  size_t length = strlen(json);
  bw_json *arguments = bw_is_utf8(json, length) ? bw_json_read(json, length, &fault) : NULL;
  if (arguments == NULL) {
    bw_addf(said, "The arguments are not JSON: %s.", bw_is_utf8(json, length) ? fault : "no UTF-8");
    return NULL;
  }
  bool is_object = arguments->kind == BW_JSON_OBJECT;
  if (!is_object) bw_addf(said, "The arguments are not a JSON object.");
  if (is_object && check(tool, arguments, said)) return arguments;
  add_usage(said, tool);
  bw_json_free(arguments);
  return NULL;
}

/* The content where it is short, what the host shows of it where it is not. */
static char *shown(const verb *tool, bw_buffer *answer) {
  if (answer->length <= SHOWN_BYTES_MAX) return bw_taken(answer);
  bw_buffer name = {0};
  bw_spilled spilled;
  bw_error error;
  bw_addf(&name, "%s.txt", tool->name);
  if (bw_spill(name.text, answer->text, answer->length, &spilled, &error)) {
    char *text = spilled.text.data;
    spilled.text = (bw_bytes){0};
    bw_spilled_free(&spilled);
    free(answer->text);
    free(name.text);
    return text;
  }
  answer->length = bw_head(answer->text, answer->length);
  bw_addf(answer, "\n[cut here: %s]", error.message);
  bw_error_free(&error);
  free(name.text);
  return bw_taken(answer);
}

static const verb *verb_of(const char *name) {
  for (size_t place = 0; place < bw_verb_count; place++)
    if (strcmp(bw_verbs[place].name, name) == 0) return &bw_verbs[place];
  return NULL;
}

static bw_answer unknown(const char *name) {
  bw_buffer said = {0};
  bw_addf(&said, "There is no tool `%s`. The tools are ", name);
  for (size_t place = 0; place < bw_verb_count; place++)
    bw_addf(&said, "%s%s", place == 0 ? "" : ", ", bw_verbs[place].name);
  bw_addf(&said, ".");
  return (bw_answer){bw_taken(&said), true};
}

bw_answer bw_dispatch(const char *name, const char *arguments) {
  const verb *tool = name != NULL ? verb_of(name) : NULL;
  if (tool == NULL) return unknown(name != NULL ? name : "");
  bw_buffer said = {0};
  bw_error error;
  bw_json *given = parsed(tool, arguments, &said);
  if (given == NULL) return (bw_answer){bw_taken(&said), true};
  bool is_done = tool->run(given, &said, &error);
  bw_json_free(given);
  if (is_done) return (bw_answer){shown(tool, &said), false};
  free(said.text);
  char *advice = bw_advice(&error);
  bw_error_free(&error);
  return (bw_answer){advice, true};
}
