#include "internal.h"

#include <stdlib.h>

enum { CALL_BYTES_MAX = 4 << 20 };

struct bw_reader {
  host_files_own_reader_t host;
  bw_file file;
};

bw_reader *bw_open(const char *path, bw_error *error) {
  bindings_string_t named;
  host_files_own_reader_t host;
  host_types_error_t refusal;
  if (!bw_put(&named, "path", path, error)) return NULL;
  if (!host_files_open_reader(&named, &host, &refusal)) {
    bw_refused(&refusal, error);
    return NULL;
  }
  bw_reader *reader = bw_allocated(sizeof *reader);
  host_types_file_t told;
  host_files_method_reader_file(host_files_borrow_reader(host), &told);
  bw_told(&told, &reader->file);
  reader->host = host;
  return reader;
}

const bw_file *bw_reader_file(const bw_reader *reader) { return &reader->file; }

bool bw_reader_read(bw_reader *reader, uint32_t length, bw_bytes *bytes, bw_error *error) {
  bindings_list_u8_t told;
  host_types_error_t refusal;
  *bytes = (bw_bytes){0};
  if (!host_files_method_reader_read(host_files_borrow_reader(reader->host), length, &told, &refusal))
    return bw_refused(&refusal, error);
  *bytes = bw_bytes_of(&told);
  return true;
}

void bw_reader_seek(bw_reader *reader, uint64_t offset) {
  host_files_method_reader_seek(host_files_borrow_reader(reader->host), offset);
}

void bw_reader_close(bw_reader *reader) {
  host_files_method_reader_close(host_files_borrow_reader(reader->host));
}

void bw_reader_free(bw_reader *reader) {
  if (reader == NULL) return;
  host_files_reader_drop_own(reader->host);
  bw_file_free(&reader->file);
  free(reader);
}

struct bw_writer {
  host_files_own_writer_t host;
};

bw_writer *bw_create(const char *path, bw_condition condition, bw_error *error) {
  bindings_string_t named;
  host_types_precondition_t when;
  host_files_own_writer_t host;
  host_types_error_t refusal;
  if (!bw_put(&named, "path", path, error) || !bw_when(&when, condition, error)) return NULL;
  if (!host_files_open_writer(&named, &when, &host, &refusal)) {
    bw_refused(&refusal, error);
    return NULL;
  }
  bw_writer *writer = bw_allocated(sizeof *writer);
  writer->host = host;
  return writer;
}

bool bw_writer_write(bw_writer *writer, const void *data, size_t length, bw_error *error) {
  const uint8_t *from = data;
  while (length > 0) {
    size_t piece = length < CALL_BYTES_MAX ? length : CALL_BYTES_MAX;
    bindings_list_u8_t bytes = {(uint8_t *)(uintptr_t)from, piece};
    host_types_error_t refusal;
    if (!host_files_method_writer_write(host_files_borrow_writer(writer->host), &bytes, &refusal))
      return bw_refused(&refusal, error);
    from += piece;
    length -= piece;
  }
  return true;
}

bool bw_writer_finish(bw_writer *writer, bw_file *file, bw_error *error) {
  host_types_file_t told;
  host_types_error_t refusal;
  bool is_made = host_files_method_writer_finish(host_files_borrow_writer(writer->host), &told, &refusal);
  return is_made ? bw_told(&told, file) : bw_refused(&refusal, error);
}

void bw_writer_abort(bw_writer *writer) {
  host_files_method_writer_abort(host_files_borrow_writer(writer->host));
}

void bw_writer_free(bw_writer *writer) {
  if (writer == NULL) return;
  host_files_writer_drop_own(writer->host);
  free(writer);
}
