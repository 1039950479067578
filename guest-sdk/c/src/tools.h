/* What a model may call: each tool with its parameters and what it does. */

#ifndef BAILIWICK_TOOLS_H
#define BAILIWICK_TOOLS_H

#include "bailiwick_json.h"
#include "internal.h"

/* Answers longer than this are offered to the host for spilling. */
enum { SHOWN_BYTES_MAX = 16 << 10 };

typedef enum kind { TEXT, FLAG, COUNT } kind;

/* One argument of a tool. */
typedef struct parameter {
  const char *name;
  kind kind;
  bool is_required;
  /* Of a count. */
  uint64_t least, most;
  const char *description;
} parameter;

/* A tool and what it does; of its parameters, the last has no name. */
typedef struct verb {
  const char *name;
  const char *description;
  parameter parameters[6];
  /* Adds what it answers; false, and the error filled, if it is refused. */
  bool (*run)(const bw_json *arguments, bw_buffer *answer, bw_error *error);
} verb;

extern const verb bw_verbs[];
extern const size_t bw_verb_count;

/* How much of a text is shown at most, whole characters. */
size_t bw_head(const char *text, size_t length);

#endif
