/* An agent guest: one turn takes what the caller sent and returns the reply. */

#include <bailiwick.h>
#include <bailiwick_json.h>
#include <stdlib.h>

/* Kept as long as the agent, across its sessions. */
#define NOTES "agent/notes.md"

bw_outcome bw_turn(const bw_request *request) {
  bw_error error;
  bw_bytes notes = {0};
  if (!bw_read_all(NOTES, &notes, &error)) {
    if (error.code != BW_NOT_FOUND) return bw_fail_by(&error);
    bw_error_free(&error);
  }
  bw_buffer line = {0};
  bw_addf(&line, "- %s\n", request->input);
  bool is_kept = bw_text_append(NOTES, line.text, NULL, &error);
  free(line.text);
  bw_outcome outcome = is_kept ? bw_reply("You said “%s”. Before that you said:\n%s", request->input,
                                          notes.data != NULL ? notes.data : "")
                               : bw_fail_by(&error);
  bw_bytes_free(&notes);
  return outcome;
}
