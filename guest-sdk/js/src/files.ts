/**
 * Files of the turn's scopes.
 *
 * A path is `<scope>/<rest>`. The host resolves every path; one that breaks a rule is refused with a
 * sentence that names the rule. Any path that an answer holds can be handed back.
 * @module
 */

import * as host from "bailiwick:storage/files@0.1.0";

import { type Condition, content, count, type Data, optional } from "./arguments";
import { precondition, string, U32_MAX, wide } from "./arguments";
import { asked, NotFound } from "./errors";
import { type File, told } from "./file";
import { READ_BYTES_MAX, Reader, utf8 } from "./reader";
import { Writer } from "./writer";

export type { Condition, Data, File };
export { Reader, Writer };

const WRITE_BYTES_MAX = 16 << 20;

/** A part of a file. */
export interface Chunk {
  bytes: Uint8Array;
  /** Of the whole file, in bytes. */
  size: number;
  /** The same over several reads means that they are parts of one content. */
  revision: string;
}

/** How deep a listing goes: the folders directly under this one are named, or what is in them is
 * listed. */
export type Depth = "children" | "all";

/** One page of a listing. */
export interface Page {
  files: File[];
  /** Folders directly under this one, each ending in `/`; only for `children`. */
  folders: string[];
  /** Pass back as `after` to go on; nothing on the last page. */
  next: string | undefined;
}

/** Which page of a listing. */
export interface ListPage {
  depth?: Depth | undefined;
  /** `next` of the page before. */
  after?: string | undefined;
  /** 1 to 1000; 1000 if not given. */
  limit?: number | undefined;
}

/**
 * Up to `length` bytes from `offset`, at most 4 MiB. Fewer only at the end of the file; empty at or
 * past it.
 *
 * Throws `NotFound`, `Denied`, or `Invalid` on a path that breaks a rule.
 */
export function read(path: string, offset = 0, length = READ_BYTES_MAX): Chunk {
  const [named, from] = [string("path", path), wide("offset", offset)];
  const most = count("length", length, U32_MAX);
  const { bytes, size, revision } = asked(() => host.read(named, from, most));
  return { bytes, size: Number(size), revision };
}

/**
 * The whole of a file, of one revision, however many calls that takes.
 *
 * Throws as `read`, and `Conflict` if the file is replaced meanwhile and its pinned bytes are gone.
 */
export function readBytes(path: string): Uint8Array {
  const first = read(path);
  if (first.bytes.length === first.size) {
    return first.bytes;
  }
  using reader = new Reader(path);
  return reader.readAll();
}

/**
 * The whole of a UTF-8 text file, of one revision, its ends of lines as they are.
 *
 * Throws `NoText` if it is not UTF-8, and as `readBytes`.
 */
export function readText(path: string): string {
  return utf8(path, readBytes(path));
}

/**
 * Creates or replaces a file, whole, of any size; text as UTF-8. All or nothing: a reader sees the
 * old bytes or the new ones.
 *
 * Throws `Conflict` if something is there (`ifAbsent`), or if the file has not, or no longer, this
 * revision; `Denied` where the turn may not write.
 */
export function write(path: string, data: Data, condition: Condition = {}): File {
  const [named, bytes, when] =
    [string("path", path), content("data", data), precondition(condition)];
  if (bytes.length <= WRITE_BYTES_MAX) {
    return told(asked(() => host.write(named, bytes, when)));
  }
  using writer = new Writer(path, condition);
  writer.write(bytes);
  return writer.finish();
}

/**
 * Removes a file: `files.delete(path)`.
 *
 * Throws `NotFound` if it is missing, `Conflict` if it has another revision, `Denied` where the turn
 * may not write.
 */
function remove(path: string, { ifRevision }: { ifRevision?: string | undefined } = {}): void {
  const [named, when] = [string("path", path), precondition({ ifRevision })];
  asked(() => host.delete(named, when));
}
export { remove as delete };

/** A file's size, revision, time and media type. Throws as `read`. */
export function stat(path: string): File {
  const named = string("path", path);
  return told(asked(() => host.stat(named)));
}

/** Whether a file is there. Throws as `stat`, but for `NotFound`. */
export function exists(path: string): boolean {
  try {
    stat(path);
    return true;
  } catch (error) {
    if (error instanceof NotFound) {
      return false;
    }
    throw error;
  }
}

/**
 * Copies a file within what the turn can reach, without the bytes passing through the guest. The
 * conditions are on the target.
 *
 * Throws `Denied` unless the turn may read the one and write the other, `Conflict` if a condition
 * fails.
 */
export function copy(source: string, target: string, condition: Condition = {}): File {
  const [from, to] = [string("source", source), string("target", target)];
  const when = precondition(condition);
  return told(asked(() => host.copy(from, to, when)));
}

/**
 * Moves a file: a copy of the source as it is now, then its deletion if it is still the same.
 *
 * Throws `Conflict` if the source changed meanwhile, and both stay; as `copy`.
 */
export function move(source: string, target: string, condition: Condition = {}): File {
  const [from, to] = [string("source", source), string("target", target)];
  const when = precondition(condition);
  return told(asked(() => host.move(from, to, when)));
}

/** All files under a folder, in byte order of their paths where the store lists so; the empty folder
 * is all that the turn can reach. Pages are asked for as they are needed. */
export function* list(folder = ""): Generator<File, void> {
  for (const page of pages(folder)) {
    yield* page.files;
  }
}

/** The pages of a listing, asked for as they are needed. */
export function* pages(folder = "", depth: Depth = "all"): Generator<Page, void> {
  let after: string | undefined;
  do {
    const page = listPage(folder, { depth, after });
    yield page;
    after = page.next;
  } while (after !== undefined);
}

/**
 * One page of a listing. It may be empty and not last.
 *
 * Throws `Invalid` on a depth, cursor or limit that is none; as `read`.
 */
export function listPage(
  folder: string,
  { depth = "all", after, limit = 1000 }: ListPage = {},
): Page {
  const [named, from] = [string("folder", folder), optional("after", after)];
  const [deep, most] = [checked(depth), count("limit", limit, U32_MAX)];
  const { files, folders, next } = asked(() => host.listFiles(named, deep, from, most));
  return { files: files.map(told), folders, next: next ?? undefined };
}

function checked(depth: Depth): Depth {
  if (depth !== "children" && depth !== "all") {
    throw new TypeError("`depth` is `children` or `all`");
  }
  return depth;
}

/**
 * A file to read from, pinned to the revision that it has now: `using reader = files.open(path)`.
 *
 * Throws `TooLarge` with too many readers open (64, by default), and as `read`.
 */
export function open(path: string): Reader {
  return new Reader(path);
}

/**
 * A file to write, of any size. It is at its path once it is finished, whole; one that is not leaves
 * what was there before: `using writer = files.create(path); …; writer.finish()`.
 *
 * Throws `TooLarge` with too many writers open (16, by default), `Conflict` if a condition fails (at
 * once, or when it is finished), and `Denied` where the turn may not write.
 */
export function create(path: string, condition: Condition = {}): Writer {
  return new Writer(path, condition);
}

/** The lines of a UTF-8 text file of any size, of one revision, without their ends. Throws as `open`
 * and `readText`. */
export function* lines(path: string): Generator<string, void> {
  using reader = new Reader(path);
  yield* reader.lines();
}
