import * as host from "bailiwick:storage/files@0.1.0";
import type { Mount } from "bailiwick:storage/types@0.1.0";

export type { Mount };

/** What this turn can reach, each place with what may be done there. A place that the turn has no
 * grant for is not listed. */
export function mounts(): Mount[] {
  return host.mounts();
}
