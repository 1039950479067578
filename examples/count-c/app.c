/* Counts lines, words and bytes of the files below /workspace, or below a folder in it that the input
 * names. Plain files; of the SDK, the turn and a buffer for the reply. */

#include <bailiwick.h>
#include <bailiwick_json.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct counts {
  unsigned long lines, words, bytes;
} counts;

static bool count_file(const char *path, counts *counted) {
  char piece[16384];
  size_t length;
  bool is_in_word = false;
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  while ((length = fread(piece, 1, sizeof piece, file)) > 0) {
    counted->bytes += length;
    for (size_t place = 0; place < length; place++) {
      bool is_space = isspace((unsigned char)piece[place]);
      counted->lines += piece[place] == '\n';
      counted->words += is_in_word && is_space;
      is_in_word = !is_space;
    }
  }
  counted->words += is_in_word;
  bool is_whole = !ferror(file);
  return fclose(file) == 0 && is_whole;
}

static void add_counts(bw_buffer *table, const counts *counted, const char *name) {
  bw_addf(table, "%8lu %8lu %8lu %s\n", counted->lines, counted->words, counted->bytes, name);
}

static bool count_folder(const char *path, bw_buffer *table, counts *total);

/* Counts what an entry of a folder is; false, and `errno` set, if it cannot be read. */
static bool count_entry(const char *path, bw_buffer *table, counts *total) {
  struct stat found;
  if (stat(path, &found) != 0) return false;
  if (S_ISDIR(found.st_mode)) return count_folder(path, table, total);
  counts counted = {0};
  if (!count_file(path, &counted)) return false;
  add_counts(table, &counted, path);
  total->lines += counted.lines;
  total->words += counted.words;
  total->bytes += counted.bytes;
  return true;
}

static bool count_folder(const char *path, bw_buffer *table, counts *total) {
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, alphasort);
  if (count < 0) return false;
  bool is_counted = true;
  for (int place = 0; place < count; place++) {
    const char *name = entries[place]->d_name;
    if (is_counted && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
      bw_buffer below = {0};
      bw_addf(&below, "%s/%s", path, name);
      is_counted = count_entry(below.text, table, total);
      free(below.text);
    }
    free(entries[place]);
  }
  free(entries);
  return is_counted;
}

bw_outcome bw_turn(const bw_request *request) {
  bw_buffer folder = {0}, table = {0};
  counts total = {0};
  const char *below = request->input + strspn(request->input, " /");
  bw_addf(&folder, below[0] == 0 ? "/workspace" : "/workspace/%s", below);
  bool is_counted = count_folder(folder.text, &table, &total);
  if (is_counted) add_counts(&table, &total, "total");
  bw_outcome outcome = is_counted ? bw_reply("%s", table.text)
                                  : bw_fail("%s cannot be counted: %s", folder.text, strerror(errno));
  free(folder.text);
  free(table.text);
  return outcome;
}
