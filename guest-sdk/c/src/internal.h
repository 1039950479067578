/* What the parts of the SDK share. */

#ifndef BAILIWICK_INTERNAL_H
#define BAILIWICK_INTERNAL_H

#include "bailiwick.h"
#include "bindings.h"

/* Memory that is there; a guest without any is over. */
void *bw_allocated(size_t size);

/* A text as the host takes it. False, and the error filled, if it is NULL or no UTF-8. */
bool bw_put(bindings_string_t *to, const char *name, const char *text, bw_error *error);
bool bw_is_utf8(const char *text, size_t length);
/* A text of the host's, with a NUL behind it; it becomes the caller's. */
char *bw_text_of(bindings_string_t *text);
bw_bytes bw_bytes_of(bindings_list_u8_t *bytes);
char *bw_optional_of(bindings_option_string_t *text);
/* Several texts of the host's. */
char **bw_texts_of(bindings_list_string_t *texts);
void bw_texts_free(char **texts, size_t count);

/* A refusal of the host's. Answers false. */
bool bw_refused(host_types_error_t *refusal, bw_error *error);
/* A refusal of our own. Answers false. */
bool bw_refuse(bw_error *error, bw_code code, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What the host tells of a file, given to `file` unless it is NULL. Answers true. */
bool bw_told(host_types_file_t *told, bw_file *file);
/* A condition as the host takes it. */
bool bw_when(host_types_precondition_t *when, bw_condition condition, bw_error *error);

/* Text that is written as `printf` does. */
char *bw_printed(const char *format, __builtin_va_list arguments);

#endif
