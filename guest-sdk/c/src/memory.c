#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bw_condition BW_ALWAYS = {0};
const bw_condition BW_IF_ABSENT = {.if_absent = true};

void *bw_allocated(size_t size) {
  void *memory = calloc(1, size > 0 ? size : 1);
  if (memory == NULL) abort();
  return memory;
}

/* How many bytes the character has that begins here; 0 if none does. */
static size_t character(const unsigned char *text, size_t left) {
  size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
  if (length == 0 || length > left || text[0] > 0xf4) return 0;
  for (size_t place = 1; place < length; place++)
    if ((text[place] & 0xc0) != 0x80) return 0;
  bool is_overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
  bool is_surrogate = text[0] == 0xed && text[1] > 0x9f;
  bool is_beyond = text[0] == 0xf4 && text[1] > 0x8f;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

bool bw_is_utf8(const char *text, size_t length) {
  for (size_t place = 0; place < length;) {
    size_t step = character((const unsigned char *)text + place, length - place);
    if (step == 0) return false;
    place += step;
  }
  return true;
}

bool bw_put(bindings_string_t *to, const char *name, const char *text, bw_error *error) {
  if (text == NULL) return bw_refuse(error, BW_INVALID, "missing", "`%s` is NULL", name);
  size_t length = strlen(text);
  if (!bw_is_utf8(text, length))
    return bw_refuse(error, BW_INVALID, "not-unicode", "`%s` is not UTF-8", name);
  // The host reads it, and no more.
  *to = (bindings_string_t){(uint8_t *)(uintptr_t)text, length};
  return true;
}

bw_bytes bw_bytes_of(bindings_list_u8_t *bytes) {
  char *data = bytes->len > 0 ? realloc(bytes->ptr, bytes->len + 1) : bw_allocated(1);
  if (data == NULL) abort();
  data[bytes->len] = 0;
  return (bw_bytes){data, bytes->len};
}

char *bw_text_of(bindings_string_t *text) {
  bindings_list_u8_t bytes = {text->ptr, text->len};
  return bw_bytes_of(&bytes).data;
}

char *bw_optional_of(bindings_option_string_t *text) {
  return text->is_some ? bw_text_of(&text->val) : NULL;
}

char **bw_texts_of(bindings_list_string_t *texts) {
  char **told = bw_allocated(texts->len * sizeof *told);
  for (size_t place = 0; place < texts->len; place++) told[place] = bw_text_of(&texts->ptr[place]);
  if (texts->len > 0) free(texts->ptr);
  return told;
}

void bw_texts_free(char **texts, size_t count) {
  for (size_t place = 0; place < count; place++) free(texts[place]);
  free(texts);
}

void bw_bytes_free(bw_bytes *bytes) {
  free(bytes->data);
  *bytes = (bw_bytes){0};
}

char *bw_printed(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  char *text = bw_allocated((length > 0 ? (size_t)length : 0) + 1);
  if (length > 0) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}
