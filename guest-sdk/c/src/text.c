#include "internal.h"

#include <stdlib.h>

void bw_slice_free(bw_slice *slice) {
  bw_bytes_free(&slice->text);
  free(slice->revision);
  *slice = (bw_slice){0};
}

static bool read_from(const char *path, host_text_position_t start, uint32_t lines, bw_slice *slice,
                      bw_error *error) {
  bindings_string_t named;
  host_text_slice_t told;
  host_types_error_t refusal;
  *slice = (bw_slice){0};
  if (!bw_put(&named, "path", path, error)) return false;
  if (!host_text_read(&named, &start, lines, &told, &refusal)) return bw_refused(&refusal, error);
  bindings_list_u8_t text = {told.text.ptr, told.text.len};
  slice->text = bw_bytes_of(&text);
  slice->has_next = told.next.is_some;
  slice->next = told.next.is_some ? told.next.val : 0;
  slice->revision = bw_text_of(&told.revision);
  return true;
}

bool bw_text_read(const char *path, uint32_t line, uint32_t lines, bw_slice *slice, bw_error *error) {
  host_text_position_t start = {.tag = HOST_TEXT_POSITION_LINE, .val.line = line};
  return read_from(path, start, lines, slice, error);
}

bool bw_text_read_on(const char *path, uint64_t offset, uint32_t lines, bw_slice *slice,
                     bw_error *error) {
  host_text_position_t start = {.tag = HOST_TEXT_POSITION_OFFSET, .val.offset = offset};
  return read_from(path, start, lines, slice, error);
}

bool bw_text_replace(const char *path, const char *old, const char *replacement, bool every,
                     bw_condition condition, bw_file *file, bw_error *error) {
  bindings_string_t named, from, to;
  host_types_precondition_t when;
  host_types_file_t told;
  host_types_error_t refusal;
  condition.if_absent = false;
  if (!bw_put(&named, "path", path, error) || !bw_put(&from, "old", old, error)) return false;
  if (!bw_put(&to, "replacement", replacement, error) || !bw_when(&when, condition, error)) return false;
  host_text_occurrence_t occurrence = every ? HOST_TEXT_OCCURRENCE_EVERY : HOST_TEXT_OCCURRENCE_ONLY;
  if (!host_text_replace(&named, &from, &to, occurrence, &when, &told, &refusal))
    return bw_refused(&refusal, error);
  return bw_told(&told, file);
}

bool bw_text_append(const char *path, const char *text, bw_file *file, bw_error *error) {
  bindings_string_t named, added;
  host_types_file_t told;
  host_types_error_t refusal;
  if (!bw_put(&named, "path", path, error) || !bw_put(&added, "text", text, error)) return false;
  if (!host_text_append(&named, &added, &told, &refusal)) return bw_refused(&refusal, error);
  return bw_told(&told, file);
}

void bw_matches_free(bw_matches *matches) {
  for (size_t place = 0; place < matches->count; place++) {
    free(matches->found[place].path);
    free(matches->found[place].text);
  }
  free(matches->found);
  free(matches->next);
  *matches = (bw_matches){0};
}

static void give_matches(host_text_matches_t *told, bw_matches *matches) {
  matches->count = told->found.len;
  matches->found = bw_allocated(told->found.len * sizeof *matches->found);
  for (size_t place = 0; place < told->found.len; place++) {
    host_text_match_t *match = &told->found.ptr[place];
    matches->found[place] = (bw_match){bw_text_of(&match->path), match->line, bw_text_of(&match->text)};
  }
  if (told->found.len > 0) free(told->found.ptr);
  matches->next = bw_optional_of(&told->next);
}

bool bw_text_search(const char *folder, const char *glob, const char *pattern, const char *after,
                    uint32_t limit, bw_matches *matches, bw_error *error) {
  bindings_string_t named, like, wanted, from;
  host_text_matches_t told;
  host_types_error_t refusal;
  *matches = (bw_matches){0};
  if (!bw_put(&named, "folder", folder, error) || !bw_put(&wanted, "pattern", pattern, error))
    return false;
  if (glob != NULL && !bw_put(&like, "glob", glob, error)) return false;
  if (after != NULL && !bw_put(&from, "after", after, error)) return false;
  if (!host_text_search(&named, glob != NULL ? &like : NULL, &wanted, after != NULL ? &from : NULL, limit,
                        &told, &refusal))
    return bw_refused(&refusal, error);
  give_matches(&told, matches);
  return true;
}

void bw_spilled_free(bw_spilled *spilled) {
  bw_bytes_free(&spilled->text);
  free(spilled->path);
  *spilled = (bw_spilled){0};
}

bool bw_spill(const char *name, const void *data, size_t length, bw_spilled *spilled, bw_error *error) {
  bindings_string_t named;
  bindings_list_u8_t bytes = {(uint8_t *)(uintptr_t)data, length};
  host_spill_spilled_t told;
  host_types_error_t refusal;
  *spilled = (bw_spilled){0};
  if (!bw_put(&named, "name", name, error)) return false;
  if (!host_spill_spill(&named, &bytes, &told, &refusal)) return bw_refused(&refusal, error);
  bindings_list_u8_t text = {told.text.ptr, told.text.len};
  *spilled = (bw_spilled){bw_bytes_of(&text), bw_optional_of(&told.path), told.size};
  return true;
}
