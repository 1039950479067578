#include "tools.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The most that every reader of JSON holds exactly. */
#define EXACT_MAX ((1ull << 53) - 1)

static const char *text_in(const bw_json *arguments, const char *name) {
  const char *text = bw_json_string(arguments, name);
  return text != NULL ? text : "";
}

static bool flag_in(const bw_json *arguments, const char *name) {
  const bw_json *value = bw_json_member(arguments, name);
  return value != NULL && value->kind == BW_JSON_TRUE;
}

static uint32_t count_in(const bw_json *arguments, const char *name, uint32_t otherwise) {
  const bw_json *value = bw_json_member(arguments, name);
  return value != NULL && value->kind == BW_JSON_NUMBER ? (uint32_t)value->natural : otherwise;
}

static bw_condition condition_in(const bw_json *arguments) {
  return (bw_condition){
      .if_absent = flag_in(arguments, "if_absent"),
      .if_revision = bw_json_string(arguments, "if_revision"),
  };
}

size_t bw_head(const char *text, size_t length) {
  if (length <= SHOWN_BYTES_MAX) return length;
  size_t end = SHOWN_BYTES_MAX;
  while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
  return end;
}

static void add_file(bw_buffer *answer, const char *done, bw_file *file) {
  bw_addf(answer, "%s%s (%" PRIu64 " bytes, %s, revision %s)", done, file->path, file->size,
          file->media_type, file->revision);
}

/* Where a list goes on, behind the lines that are there. */
static void add_next(bw_buffer *answer, const char *next, const char *nothing) {
  if (next != NULL)
    bw_addf(answer, "[there is more: go on with \"after\": \"%s\"]", next);
  else if (answer->length > 0)
    answer->text[--answer->length] = 0;
  else
    bw_addf(answer, "%s", nothing);
}

static bool list_files(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_page page;
  bw_depth depth = flag_in(arguments, "all") ? BW_ALL : BW_CHILDREN;
  if (!bw_list_page(text_in(arguments, "folder"), depth, bw_json_string(arguments, "after"),
                    count_in(arguments, "limit", 100), &page, error))
    return false;
  for (size_t place = 0; place < page.folder_count; place++)
    bw_addf(answer, "%s\n", page.folders[place]);
  for (size_t place = 0; place < page.file_count; place++)
    bw_addf(answer, "%s (%" PRIu64 " bytes)\n", page.files[place].path, page.files[place].size);
  add_next(answer, page.next, "There is nothing.");
  bw_page_free(&page);
  return true;
}

static bool read_slice(const bw_json *arguments, uint32_t lines, bw_slice *slice, bw_error *error) {
  const char *path = text_in(arguments, "path");
  const bw_json *offset = bw_json_member(arguments, "offset");
  if (offset != NULL && offset->kind == BW_JSON_NUMBER)
    return bw_text_read_on(path, offset->natural, lines, slice, error);
  return bw_text_read(path, count_in(arguments, "line", 1), lines, slice, error);
}

static uint32_t lines_of(const char *text, size_t length) {
  uint32_t lines = 0;
  for (size_t place = 0; place < length; place++) lines += text[place] == '\n';
  return lines;
}

/* The slice, or as many of its lines as can be shown at once. */
static bool read_file(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_slice slice;
  if (!read_slice(arguments, count_in(arguments, "lines", 200), &slice, error)) return false;
  uint32_t fitting = lines_of(slice.text.data, bw_head(slice.text.data, slice.text.length));
  if (slice.text.length > SHOWN_BYTES_MAX && fitting > 0) {
    bw_slice_free(&slice);
    if (!read_slice(arguments, fitting, &slice, error)) return false;
  }
  bw_add(answer, slice.text.data, slice.text.length);
  if (slice.has_next)
    bw_addf(answer, "\n[there is more: go on with \"offset\": %" PRIu64 "]", slice.next);
  bw_slice_free(&slice);
  return true;
}

static bool write_file(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_file file;
  const bw_json *content = bw_json_member(arguments, "content");
  if (!bw_write(text_in(arguments, "path"), content->text, content->length, condition_in(arguments), &file,
                error))
    return false;
  add_file(answer, "Written: ", &file);
  bw_file_free(&file);
  return true;
}

static bool edit_file(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_file file;
  if (!bw_text_replace(text_in(arguments, "path"), text_in(arguments, "old"), text_in(arguments, "new"),
                       flag_in(arguments, "every"), condition_in(arguments), &file, error))
    return false;
  add_file(answer, "Edited: ", &file);
  bw_file_free(&file);
  return true;
}

static bool append_to_file(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_file file;
  if (!bw_text_append(text_in(arguments, "path"), text_in(arguments, "text"), &file, error)) return false;
  add_file(answer, "Appended: ", &file);
  bw_file_free(&file);
  return true;
}

static bool search_files(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_matches matches;
  if (!bw_text_search(text_in(arguments, "folder"), bw_json_string(arguments, "glob"),
                      text_in(arguments, "pattern"), bw_json_string(arguments, "after"),
                      count_in(arguments, "limit", 50), &matches, error))
    return false;
  for (size_t place = 0; place < matches.count; place++) {
    bw_match *match = &matches.found[place];
    bw_addf(answer, "%s:%" PRIu32 ": %s\n", match->path, match->line, match->text);
  }
  add_next(answer, matches.next, "No line matches.");
  bw_matches_free(&matches);
  return true;
}

static bool file_info(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_file file;
  if (!bw_stat(text_in(arguments, "path"), &file, error)) return false;
  add_file(answer, "", &file);
  bw_addf(answer, ", changed %" PRIu64 " ms after 1970-01-01 UTC", file.modified_ms);
  bw_file_free(&file);
  return true;
}

static bool copy_file(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_file file;
  if (!bw_copy(text_in(arguments, "source"), text_in(arguments, "target"), condition_in(arguments), &file,
               error))
    return false;
  add_file(answer, "Copied to ", &file);
  bw_file_free(&file);
  return true;
}

static bool move_file(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  bw_file file;
  if (!bw_move(text_in(arguments, "source"), text_in(arguments, "target"), condition_in(arguments), &file,
               error))
    return false;
  add_file(answer, "Moved to ", &file);
  bw_file_free(&file);
  return true;
}

static bool delete_file(const bw_json *arguments, bw_buffer *answer, bw_error *error) {
  if (!bw_delete(text_in(arguments, "path"), condition_in(arguments), error)) return false;
  bw_addf(answer, "Deleted: %s", text_in(arguments, "path"));
  return true;
}

#define NEEDED(name, description) {name, TEXT, true, 0, 0, description}
#define MAYBE(name, kind, description) {name, kind, false, 0, 0, description}
#define COUNTED(name, least, most, description) {name, COUNT, false, least, most, description}
#define PATH \
  NEEDED("path", \
         "Path of the file, starting with its scope: session/, agent/, workspace/ or skill/<slug>/.")
#define SOURCE NEEDED("source", "Path of the file to take.")
#define TARGET NEEDED("target", "Path that it gets; replaced if there.")
#define IF_REVISION \
  MAYBE("if_revision", TEXT, "Only if the file still has this revision, as an earlier answer gave it.")
#define IF_ABSENT MAYBE("if_absent", FLAG, "Only if nothing is there yet.")
#define AFTER MAYBE("after", TEXT, "Where to go on, as the last answer gave it.")

const verb bw_verbs[] = {
    {"list_files",
     "Lists the files and folders under a folder. Without a folder: every place that can be reached.",
     {MAYBE("folder", TEXT, "Path of the folder."),
      MAYBE("all", FLAG, "Files of all folders below it, too."), AFTER,
      COUNTED("limit", 1, 1000, "Most files to list; 100 if not given.")},
     list_files},
    {"read_file",
     "Reads lines of a text file, or of the text of a document. Says where to go on if there is more.",
     {PATH, COUNTED("line", 1, UINT32_MAX, "First line, counted from 1."),
      COUNTED("offset", 0, EXACT_MAX, "Where to go on, as the last answer gave it."),
      COUNTED("lines", 1, 10000, "Most lines to read; 200 if not given.")},
     read_file},
    {"write_file",
     "Creates or replaces a file, whole. To change a part of one, use edit_file.",
     {PATH, NEEDED("content", "The whole text."), IF_ABSENT, IF_REVISION},
     write_file},
    {"edit_file",
     "Replaces text in a file. The old text must stand there exactly once, unless every is true.",
     {PATH, NEEDED("old", "The text that stands there, exactly."),
      NEEDED("new", "The text to put in its place."),
      MAYBE("every", FLAG, "Replace it wherever it stands."), IF_REVISION},
     edit_file},
    {"append_to_file",
     "Appends text to a file, creating it if absent. Ends of lines are yours to write.",
     {PATH, NEEDED("text", "The text to append.")},
     append_to_file},
    {"search_files",
     "Finds lines that match a regular expression in the text files under a folder.",
     {NEEDED("pattern", "The regular expression; no look-around."),
      MAYBE("folder", TEXT, "Where to search; everywhere if not given."),
      MAYBE("glob", TEXT, "Only in files like this, such as *.md."), AFTER,
      COUNTED("limit", 1, 1000, "Most lines to find; 50 if not given.")},
     search_files},
    {"file_info", "A file's size, revision, time and media type.", {PATH}, file_info},
    {"copy_file", "Copies a file, also to another scope.", {SOURCE, TARGET, IF_ABSENT}, copy_file},
    {"move_file", "Moves or renames a file.", {SOURCE, TARGET, IF_ABSENT}, move_file},
    {"delete_file", "Removes a file. It cannot be had back.", {PATH, IF_REVISION}, delete_file},
};
const size_t bw_verb_count = sizeof bw_verbs / sizeof *bw_verbs;
