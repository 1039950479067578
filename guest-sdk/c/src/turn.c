#include "internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bw_outcome outcome(int kind, const char *format, va_list arguments) {
  bw_outcome made = {.text = bw_printed(format, arguments)};
  made.kind = kind;
  return made;
}

bw_outcome bw_reply(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bw_outcome made = outcome(BW_REPLY, format, arguments);
  va_end(arguments);
  return made;
}

bw_outcome bw_park(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bw_outcome made = outcome(BW_PARK, format, arguments);
  va_end(arguments);
  return made;
}

bw_outcome bw_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bw_outcome made = outcome(BW_FAIL, format, arguments);
  va_end(arguments);
  return made;
}

bw_outcome bw_fail_by(bw_error *error) {
  bw_outcome made = bw_fail("%s", error->message != NULL ? error->message : "nothing is known");
  bw_error_free(error);
  return made;
}

static bindings_string_t given(char *text) { return (bindings_string_t){(uint8_t *)text, strlen(text)}; }

/* What the host calls. */
bool exports_guest_turn_run(exports_guest_turn_request_t *request, exports_guest_turn_outcome_t *reply,
                            bindings_string_t *failure) {
  size_t length = request->input.len;
  char *input = bw_text_of(&request->input), *answer = bw_optional_of(&request->answer);
  bw_request asked = {input, length, answer, request->attempt};
  bw_outcome ended = bw_turn(&asked);
  free(input);
  free(answer);
  if (ended.text == NULL || !bw_is_utf8(ended.text, strlen(ended.text))) {
    free(ended.text);
    ended = bw_fail("the turn ended with what is not UTF-8 text");
  }
  if (ended.kind == BW_FAIL) {
    *failure = given(ended.text);
    return false;
  }
  bool is_parked = ended.kind == BW_PARK;
  reply->tag = is_parked ? EXPORTS_GUEST_TURN_OUTCOME_PARK : EXPORTS_GUEST_TURN_OUTCOME_REPLY;
  *(is_parked ? &reply->val.park : &reply->val.reply) = given(ended.text);
  return true;
}

bool bw_say(const char *part, bw_error *error) {
  bindings_string_t text;
  if (!bw_put(&text, "part", part, error)) return false;
  host_session_say(&text);
  return true;
}

bool bw_wake(uint64_t after_ms, const char *input, bw_error *error) {
  bindings_string_t text, refusal;
  if (!bw_put(&text, "input", input, error)) return false;
  if (host_session_wake(after_ms, &text, &refusal)) return true;
  char *message = bw_text_of(&refusal);
  bw_refuse(error, BW_TOO_LARGE, "wake", "%s", message);
  free(message);
  return false;
}

static host_session_status_t status(void) {
  host_session_status_t status;
  host_session_current_status(&status);
  return status;
}

bool bw_is_cancelled(void) { return status().cancelled; }

uint64_t bw_remaining_ms(void) { return status().remaining_ms; }

void bw_log(bw_level level, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *line = bw_printed(format, arguments);
  va_end(arguments);
  bindings_string_t text;
  // Levels are the contract's, in its order.
  if (bw_put(&text, "line", line, NULL)) host_log_emit((host_log_level_t)level, &text);
  free(line);
}
