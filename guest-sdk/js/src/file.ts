import type * as host from "bailiwick:storage/types@0.1.0";

/** A stored file, as a guest sees it. */
export interface File {
  /** The one spelling of its path, for example `agent/notes.md`. */
  path: string;
  /** Bytes. */
  size: number;
  /** Opaque. Equal revisions of a path mean equal bytes; compare for equality only. */
  revision: string;
  /** Milliseconds since the Unix epoch, UTC: `new Date(modifiedMs)`. */
  modifiedMs: number;
  /** Media type, by name; `application/octet-stream` when unknown. */
  mediaType: string;
}

/** What the host tells of a file, its numbers as numbers. */
export function told(file: host.File): File {
  return { ...file, size: Number(file.size), modifiedMs: Number(file.modifiedMs) };
}
