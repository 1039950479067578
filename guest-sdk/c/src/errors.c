#include "bailiwick_json.h"
#include "internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// The codes of the contract are ours, in its order.
_Static_assert(BW_NO_SCOPE == HOST_TYPES_ERROR_CODE_NO_SCOPE, "the first code");
_Static_assert(BW_UNAVAILABLE == HOST_TYPES_ERROR_CODE_UNAVAILABLE, "the last code");

static const char *const NAMES[] = {
    "no-scope", "invalid",      "denied", "not-found",   "conflict", "no-match",    "too-large",
    "no-text",  "text-pending", "closed", "unsupported", "busy",     "unavailable",
};

const char *bw_code_name(bw_code code) {
  return (size_t)code < sizeof NAMES / sizeof *NAMES ? NAMES[code] : "unknown";
}

void bw_error_free(bw_error *error) {
  free(error->reason);
  free(error->message);
  bw_texts_free(error->suggestions, error->suggestion_count);
  *error = (bw_error){0};
}

char *bw_advice(const bw_error *error) {
  bw_buffer advice = {0};
  size_t length = strlen(error->message);
  while (error->suggestion_count > 0 && length > 0 && error->message[length - 1] == '.') length--;
  bw_add(&advice, error->message, length);
  for (size_t place = 0; place < error->suggestion_count; place++)
    bw_addf(&advice, "%s`%s`", place == 0 ? ". Try: " : ", ", error->suggestions[place]);
  if (error->suggestion_count > 0) bw_add(&advice, ".", 1);
  return bw_taken(&advice);
}

bool bw_refused(host_types_error_t *refusal, bw_error *error) {
  if (error == NULL) {
    host_types_error_free(refusal);
    return false;
  }
  *error = (bw_error){.code = (bw_code)refusal->code};
  error->reason = bw_text_of(&refusal->reason);
  error->message = bw_text_of(&refusal->message);
  error->suggestion_count = refusal->suggestions.len;
  error->suggestions = bw_texts_of(&refusal->suggestions);
  return false;
}

bool bw_refuse(bw_error *error, bw_code code, const char *reason, const char *format, ...) {
  if (error == NULL) return false;
  va_list arguments;
  va_start(arguments, format);
  *error = (bw_error){.code = code, .reason = strdup(reason), .message = bw_printed(format, arguments)};
  va_end(arguments);
  return false;
}
