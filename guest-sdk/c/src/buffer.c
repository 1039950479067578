#include "bailiwick_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_room(bw_buffer *buffer, size_t length) {
  size_t wanted = buffer->length + length + 1;
  if (wanted <= buffer->room) return;
  buffer->room = wanted < 2 * buffer->room ? 2 * buffer->room : wanted;
  buffer->text = realloc(buffer->text, buffer->room);
  if (buffer->text == NULL) abort();
}

void bw_add(bw_buffer *buffer, const char *text, size_t length) {
  make_room(buffer, length);
  if (length > 0) memcpy(buffer->text + buffer->length, text, length);
  buffer->length += length;
  buffer->text[buffer->length] = 0;
}

void bw_addf(bw_buffer *buffer, const char *format, ...) {
  va_list counted, written;
  va_start(counted, format);
  va_copy(written, counted);
  int length = vsnprintf(NULL, 0, format, counted);
  va_end(counted);
  if (length >= 0) {
    make_room(buffer, (size_t)length);
    vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, written);
    buffer->length += (size_t)length;
  }
  va_end(written);
}

void bw_add_json_string(bw_buffer *buffer, const char *text, size_t length) {
  bw_add(buffer, "\"", 1);
  for (size_t place = 0; place < length; place++) {
    unsigned char character = (unsigned char)text[place];
    if (character == '"' || character == '\\') {
      bw_add(buffer, "\\", 1);
      bw_add(buffer, &text[place], 1);
    } else if (character < 0x20) {
      bw_addf(buffer, "\\u%04x", character);
    } else {
      bw_add(buffer, &text[place], 1);
    }
  }
  bw_add(buffer, "\"", 1);
}

char *bw_taken(bw_buffer *buffer) {
  bw_add(buffer, NULL, 0);
  char *text = buffer->text;
  *buffer = (bw_buffer){0};
  return text;
}
