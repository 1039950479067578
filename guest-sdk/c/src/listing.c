#include "internal.h"

#include <stdlib.h>
#include <string.h>

void bw_page_free(bw_page *page) {
  for (size_t place = 0; place < page->file_count; place++) bw_file_free(&page->files[place]);
  free(page->files);
  bw_texts_free(page->folders, page->folder_count);
  free(page->next);
  *page = (bw_page){0};
}

bool bw_list_page(const char *folder, bw_depth depth, const char *after, uint32_t limit, bw_page *page,
                  bw_error *error) {
  bindings_string_t named, from;
  host_files_page_t told;
  host_types_error_t refusal;
  *page = (bw_page){0};
  if (!bw_put(&named, "folder", folder, error)) return false;
  if (after != NULL && !bw_put(&from, "after", after, error)) return false;
  host_files_depth_t deep = depth == BW_ALL ? HOST_FILES_DEPTH_ALL : HOST_FILES_DEPTH_CHILDREN;
  if (!host_files_list_files(&named, deep, after != NULL ? &from : NULL, limit, &told, &refusal))
    return bw_refused(&refusal, error);
  page->file_count = told.files.len;
  page->files = bw_allocated(told.files.len * sizeof *page->files);
  for (size_t place = 0; place < told.files.len; place++)
    bw_told(&told.files.ptr[place], &page->files[place]);
  if (told.files.len > 0) free(told.files.ptr);
  page->folder_count = told.folders.len;
  page->folders = bw_texts_of(&told.folders);
  page->next = bw_optional_of(&told.next);
  return true;
}

struct bw_listing {
  char *folder;
  bw_page page;
  size_t place;
  bool is_begun;
};

bw_listing *bw_list(const char *folder) {
  bw_listing *listing = bw_allocated(sizeof *listing);
  if (folder != NULL) listing->folder = strdup(folder);
  return listing;
}

const bw_file *bw_list_next(bw_listing *listing, bw_error *error) {
  if (error != NULL) *error = (bw_error){0};
  while (listing->place == listing->page.file_count) {
    if (listing->is_begun && listing->page.next == NULL) return NULL;
    bw_page page;
    if (!bw_list_page(listing->folder, BW_ALL, listing->page.next, 1000, &page, error)) return NULL;
    bw_page_free(&listing->page);
    listing->page = page;
    listing->place = 0;
    listing->is_begun = true;
  }
  return &listing->page.files[listing->place++];
}

void bw_list_close(bw_listing *listing) {
  if (listing == NULL) return;
  bw_page_free(&listing->page);
  free(listing->folder);
  free(listing);
}
