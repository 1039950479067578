/* JSON, as far as tools need it: a reader that makes a tree, and a buffer that text is written to. */

#ifndef BAILIWICK_JSON_H
#define BAILIWICK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bw_json_kind {
  BW_JSON_NULL,
  BW_JSON_FALSE,
  BW_JSON_TRUE,
  BW_JSON_NUMBER,
  BW_JSON_STRING,
  BW_JSON_ARRAY,
  BW_JSON_OBJECT,
} bw_json_kind;

/* A value. */
typedef struct bw_json {
  bw_json_kind kind;
  /* Of a number: as near as it can be told. */
  double number;
  /* Of a number: whether it is a whole one that `natural` holds exactly. */
  bool is_natural;
  uint64_t natural;
  /* Of a string: UTF-8, a NUL behind it and perhaps in it. */
  char *text;
  size_t length;
  /* Of an array or an object: its first value. */
  struct bw_json *first;
  /* The value after this one, and in an object its name. */
  struct bw_json *next;
  char *name;
} bw_json;

/* Reads a value, the whole of the text. NULL if it is none, and then `fault`, unless it is NULL,
 * says why. Names are in objects as often as they were written; of two the later one counts. */
bw_json *bw_json_read(const char *text, size_t length, const char **fault);

void bw_json_free(bw_json *value);

/* The value of a name in an object; NULL if there is none, or no object. */
const bw_json *bw_json_member(const bw_json *object, const char *name);

/* The text of a string in an object; NULL if there is none. */
const char *bw_json_string(const bw_json *object, const char *name);

/* Text that grows; all zeros is an empty one. */
typedef struct bw_buffer {
  /* A NUL is behind it; NULL while it is empty. */
  char *text;
  size_t length;
  size_t room;
} bw_buffer;

void bw_add(bw_buffer *buffer, const char *text, size_t length);
void bw_addf(bw_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A string of JSON, quotes and all. */
void bw_add_json_string(bw_buffer *buffer, const char *text, size_t length);
/* What was written, the caller's to free; never NULL. */
char *bw_taken(bw_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
