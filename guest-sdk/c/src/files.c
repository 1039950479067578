#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_BYTES_MAX = 4 << 20, WRITE_BYTES_MAX = 16 << 20 };

void bw_file_free(bw_file *file) {
  free(file->path);
  free(file->revision);
  free(file->media_type);
  *file = (bw_file){0};
}

void bw_chunk_free(bw_chunk *chunk) {
  bw_bytes_free(&chunk->bytes);
  free(chunk->revision);
  *chunk = (bw_chunk){0};
}

static bw_file file_of(host_types_file_t *told) {
  return (bw_file){
      .path = bw_text_of(&told->path),
      .size = told->size,
      .revision = bw_text_of(&told->revision),
      .modified_ms = told->modified_ms,
      .media_type = bw_text_of(&told->media_type),
  };
}

bool bw_told(host_types_file_t *told, bw_file *file) {
  if (file == NULL)
    host_types_file_free(told);
  else
    *file = file_of(told);
  return true;
}

bool bw_when(host_types_precondition_t *when, bw_condition condition, bw_error *error) {
  if (condition.if_revision != NULL) {
    when->tag = HOST_TYPES_PRECONDITION_IF_REVISION;
    return bw_put(&when->val.if_revision, "if_revision", condition.if_revision, error);
  }
  when->tag = condition.if_absent ? HOST_TYPES_PRECONDITION_IF_ABSENT : HOST_TYPES_PRECONDITION_ALWAYS;
  return true;
}

size_t bw_mounts(bw_mount **mounts) {
  host_files_list_mount_t told;
  host_files_mounts(&told);
  *mounts = bw_allocated(told.len * sizeof **mounts);
  for (size_t place = 0; place < told.len; place++) {
    (*mounts)[place].name = bw_text_of(&told.ptr[place].name);
    (*mounts)[place].is_writable = told.ptr[place].access == HOST_TYPES_ACCESS_READ_WRITE;
  }
  if (told.len > 0) free(told.ptr);
  return told.len;
}

void bw_mounts_free(bw_mount *mounts, size_t count) {
  for (size_t place = 0; place < count; place++) free(mounts[place].name);
  free(mounts);
}

bool bw_read(const char *path, uint64_t offset, uint32_t length, bw_chunk *chunk, bw_error *error) {
  bindings_string_t named;
  host_files_chunk_t told;
  host_types_error_t refusal;
  if (!bw_put(&named, "path", path, error)) return false;
  if (!host_files_read(&named, offset, length, &told, &refusal)) return bw_refused(&refusal, error);
  bw_chunk given = {bw_bytes_of(&told.bytes), told.size, bw_text_of(&told.revision)};
  if (chunk == NULL)
    bw_chunk_free(&given);
  else
    *chunk = given;
  return true;
}

/* All that is left to read, behind what the bytes hold already. */
static bool read_rest(bw_reader *reader, bw_bytes *bytes, bw_error *error) {
  for (;;) {
    bw_bytes piece;
    if (!bw_reader_read(reader, CALL_BYTES_MAX, &piece, error)) return false;
    if (piece.length == 0) {
      bw_bytes_free(&piece);
      return true;
    }
    bytes->data = realloc(bytes->data, bytes->length + piece.length + 1);
    if (bytes->data == NULL) abort();
    memcpy(bytes->data + bytes->length, piece.data, piece.length + 1);
    bytes->length += piece.length;
    bw_bytes_free(&piece);
  }
}

bool bw_read_all(const char *path, bw_bytes *bytes, bw_error *error) {
  bw_chunk first;
  *bytes = (bw_bytes){0};
  if (!bw_read(path, 0, CALL_BYTES_MAX, &first, error)) return false;
  if (first.bytes.length == first.size) {
    *bytes = first.bytes;
    first.bytes = (bw_bytes){0};
    bw_chunk_free(&first);
    return true;
  }
  bw_chunk_free(&first);
  bw_reader *reader = bw_open(path, error);
  if (reader == NULL) return false;
  bool is_read = read_rest(reader, bytes, error);
  bw_reader_free(reader);
  if (!is_read) bw_bytes_free(bytes);
  return is_read;
}

bool bw_write(const char *path, const void *data, size_t length, bw_condition condition, bw_file *file,
              bw_error *error) {
  if (length > WRITE_BYTES_MAX) {
    bw_writer *writer = bw_create(path, condition, error);
    if (writer == NULL) return false;
    bool is_made =
        bw_writer_write(writer, data, length, error) && bw_writer_finish(writer, file, error);
    bw_writer_free(writer);
    return is_made;
  }
  bindings_string_t named;
  bindings_list_u8_t bytes = {(uint8_t *)(uintptr_t)data, length};
  host_types_precondition_t when;
  host_types_file_t told;
  host_types_error_t refusal;
  if (!bw_put(&named, "path", path, error) || !bw_when(&when, condition, error)) return false;
  if (!host_files_write(&named, &bytes, &when, &told, &refusal)) return bw_refused(&refusal, error);
  return bw_told(&told, file);
}

bool bw_delete(const char *path, bw_condition condition, bw_error *error) {
  bindings_string_t named;
  host_types_precondition_t when;
  host_types_error_t refusal;
  condition.if_absent = false;
  if (!bw_put(&named, "path", path, error) || !bw_when(&when, condition, error)) return false;
  return host_files_delete(&named, &when, &refusal) || bw_refused(&refusal, error);
}

bool bw_stat(const char *path, bw_file *file, bw_error *error) {
  bindings_string_t named;
  host_types_file_t told;
  host_types_error_t refusal;
  if (!bw_put(&named, "path", path, error)) return false;
  if (!host_files_stat(&named, &told, &refusal)) return bw_refused(&refusal, error);
  return bw_told(&told, file);
}

typedef bool between(bindings_string_t *, bindings_string_t *, host_types_precondition_t *,
                     host_types_file_t *, host_types_error_t *);

static bool taken_over(between *verb, const char *source, const char *target, bw_condition condition,
                       bw_file *file, bw_error *error) {
  bindings_string_t from, to;
  host_types_precondition_t when;
  host_types_file_t told;
  host_types_error_t refusal;
  if (!bw_put(&from, "source", source, error) || !bw_put(&to, "target", target, error)) return false;
  if (!bw_when(&when, condition, error)) return false;
  if (!verb(&from, &to, &when, &told, &refusal)) return bw_refused(&refusal, error);
  return bw_told(&told, file);
}

bool bw_copy(const char *source, const char *target, bw_condition condition, bw_file *file,
             bw_error *error) {
  return taken_over(host_files_copy, source, target, condition, file, error);
}

bool bw_move(const char *source, const char *target, bw_condition condition, bw_file *file,
             bw_error *error) {
  return taken_over(host_files_move, source, target, condition, file, error);
}
