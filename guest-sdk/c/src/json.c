#include "bailiwick_json.h"

#include <stdlib.h>
#include <string.h>

/* As deep as other readers go: this one calls itself. */
enum { DEPTH_MAX = 128 };

typedef struct reader {
  const char *at;
  const char *end;
  const char *fault;
  int depth;
} reader;

static bw_json *read_value(reader *r);

static bw_json *failed(reader *r, const char *fault) {
  if (r->fault == NULL) r->fault = fault;
  return NULL;
}

static void skip_space(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) != NULL && *r->at != 0) r->at++;
}

static bool skip(reader *r, char expected) {
  skip_space(r);
  if (r->at == r->end || *r->at != expected) return false;
  r->at++;
  return true;
}

static bw_json *made(bw_json_kind kind) {
  bw_json *value = calloc(1, sizeof *value);
  if (value == NULL) abort();
  value->kind = kind;
  return value;
}

static bw_json *read_word(reader *r, const char *word, bw_json_kind kind) {
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
    return failed(r, "a value is expected");
  r->at += length;
  return made(kind);
}

static bool is_digit(reader *r) { return r->at < r->end && *r->at >= '0' && *r->at <= '9'; }

static bool skip_digits(reader *r) {
  if (!is_digit(r)) return false;
  while (is_digit(r)) r->at++;
  return true;
}

/* Whether what is at the reader is a number, which is skipped. */
static bool skip_number(reader *r, bool *is_whole) {
  *is_whole = *r->at != '-';
  if (*r->at == '-') r->at++;
  bool is_zero = r->at < r->end && *r->at == '0';
  if (is_zero) r->at++;
  if (!is_zero && !skip_digits(r)) return false;
  if (r->at < r->end && *r->at == '.') {
    *is_whole = false;
    r->at++;
    if (!skip_digits(r)) return false;
  }
  if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
    *is_whole = false;
    r->at++;
    if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
    if (!skip_digits(r)) return false;
  }
  return true;
}

static bw_json *read_number(reader *r) {
  const char *start = r->at;
  bool is_whole;
  if (!skip_number(r, &is_whole)) return failed(r, "a number is cut short");
  bw_json *value = made(BW_JSON_NUMBER);
  value->is_natural = is_whole;
  for (const char *digit = start; is_whole && digit < r->at; digit++) {
    uint64_t added = (uint64_t)(*digit - '0');
    if (value->natural > (UINT64_MAX - added) / 10) value->is_natural = false;
    value->natural = value->natural * 10 + added;
  }
  char copy[64];
  size_t length = (size_t)(r->at - start) < sizeof copy - 1 ? (size_t)(r->at - start) : sizeof copy - 1;
  memcpy(copy, start, length);
  copy[length] = 0;
  value->number = strtod(copy, NULL);
  return value;
}

static int hex(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

static bool read_unit(reader *r, unsigned *unit) {
  if (r->end - r->at < 4) return false;
  *unit = 0;
  for (int digit = 0; digit < 4; digit++) {
    int value = hex(*r->at++);
    if (value < 0) return false;
    *unit = *unit * 16 + (unsigned)value;
  }
  return true;
}

static void add_character(bw_buffer *buffer, unsigned code) {
  char bytes[4];
  size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  if (length == 1) {
    bytes[0] = (char)code;
  } else {
    static const unsigned char starts[] = {0xc0, 0xe0, 0xf0};
    bytes[0] = (char)(starts[length - 2] | code >> 6 * (length - 1));
    for (size_t place = 1; place < length; place++)
      bytes[place] = (char)(0x80 | (code >> 6 * (length - 1 - place) & 0x3f));
  }
  bw_add(buffer, bytes, length);
}

/* After `\u`: half of a character is none that the host could be told. */
static bool read_escaped_unit(reader *r, bw_buffer *buffer) {
  unsigned high, low;
  if (!read_unit(r, &high)) return false;
  if (high >= 0xdc00 && high < 0xe000) return false;
  if (high < 0xd800 || high >= 0xe000) {
    add_character(buffer, high);
    return true;
  }
  if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u') return false;
  r->at += 2;
  if (!read_unit(r, &low) || low < 0xdc00 || low >= 0xe000) return false;
  add_character(buffer, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
  return true;
}

static bool read_escape(reader *r, bw_buffer *buffer) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  if (r->at == r->end) return false;
  char letter = *r->at++;
  if (letter == 'u') return read_escaped_unit(r, buffer);
  const char *found = letter == 0 ? NULL : strchr(letters, letter);
  if (found == NULL) return false;
  bw_add(buffer, &meant[found - letters], 1);
  return true;
}

/* A string, from its first quote on; NULL if it is none. */
static char *read_string(reader *r, size_t *length) {
  bw_buffer buffer = {0};
  for (r->at++; r->at < r->end && *r->at != '"';) {
    const char *start = r->at;
    while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= 0x20) r->at++;
    bw_add(&buffer, start, (size_t)(r->at - start));
    if (r->at == r->end || *r->at == '"') break;
    if (*r->at++ != '\\' || !read_escape(r, &buffer)) {
      free(buffer.text);
      failed(r, "a string holds what it may not");
      return NULL;
    }
  }
  if (r->at == r->end) {
    free(buffer.text);
    failed(r, "a string has no end");
    return NULL;
  }
  r->at++;
  *length = buffer.length;
  return bw_taken(&buffer);
}

static bw_json *read_text(reader *r) {
  size_t length;
  char *text = read_string(r, &length);
  if (text == NULL) return NULL;
  bw_json *value = made(BW_JSON_STRING);
  value->text = text;
  value->length = length;
  return value;
}

static char *read_name(reader *r) {
  size_t length;
  skip_space(r);
  if (r->at == r->end || *r->at != '"') {
    failed(r, "a name is expected");
    return NULL;
  }
  char *name = read_string(r, &length);
  if (name == NULL) return NULL;
  if (strlen(name) == length && skip(r, ':')) return name;
  free(name);
  failed(r, "a name is not followed by a value");
  return NULL;
}

static bw_json *read_several(reader *r, bw_json_kind kind, char end) {
  if (++r->depth > DEPTH_MAX) return failed(r, "it is nested too deeply");
  bw_json *several = made(kind), **last = &several->first;
  r->at++;
  bool is_over = skip(r, end);
  while (!is_over) {
    char *name = kind == BW_JSON_OBJECT ? read_name(r) : NULL;
    bw_json *value = r->fault == NULL ? read_value(r) : NULL;
    if (value == NULL) {
      free(name);
      break;
    }
    value->name = name;
    *last = value;
    last = &value->next;
    is_over = skip(r, end);
    if (!is_over && !skip(r, ',')) {
      failed(r, "a comma is expected");
      break;
    }
  }
  r->depth--;
  if (is_over) return several;
  bw_json_free(several);
  return NULL;
}

static bw_json *read_value(reader *r) {
  skip_space(r);
  if (r->at == r->end) return failed(r, "it ends too early");
  switch (*r->at) {
    case '{': return read_several(r, BW_JSON_OBJECT, '}');
    case '[': return read_several(r, BW_JSON_ARRAY, ']');
    case '"': return read_text(r);
    case 't': return read_word(r, "true", BW_JSON_TRUE);
    case 'f': return read_word(r, "false", BW_JSON_FALSE);
    case 'n': return read_word(r, "null", BW_JSON_NULL);
    default: break;
  }
  if (*r->at == '-' || is_digit(r)) return read_number(r);
  return failed(r, "a value is expected");
}

bw_json *bw_json_read(const char *text, size_t length, const char **fault) {
  reader r = {.at = text, .end = text + length};
  bw_json *value = read_value(&r);
  skip_space(&r);
  if (value != NULL && r.at != r.end) {
    bw_json_free(value);
    value = failed(&r, "more follows it");
  }
  if (fault != NULL) *fault = r.fault;
  return value;
}

void bw_json_free(bw_json *value) {
  while (value != NULL) {
    bw_json *next = value->next;
    bw_json_free(value->first);
    free(value->text);
    free(value->name);
    free(value);
    value = next;
  }
}

const bw_json *bw_json_member(const bw_json *object, const char *name) {
  const bw_json *found = NULL;
  if (object == NULL || object->kind != BW_JSON_OBJECT) return NULL;
  for (const bw_json *each = object->first; each != NULL; each = each->next)
    if (strcmp(each->name, name) == 0) found = each;
  return found;
}

const char *bw_json_string(const bw_json *object, const char *name) {
  const bw_json *member = bw_json_member(object, name);
  return member != NULL && member->kind == BW_JSON_STRING ? member->text : NULL;
}
