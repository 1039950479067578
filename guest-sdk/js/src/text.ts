/**
 * Text verbs, done by the host: the bytes of a file stay there.
 * @module
 */

import * as host from "bailiwick:storage/text@0.1.0";
import type { Match } from "bailiwick:storage/text@0.1.0";

import { count, optional, precondition, string, U32_MAX, wide } from "./arguments";
import { asked } from "./errors";
import { type File, told } from "./file";

export type { Match };

/** Lines of a text. */
export interface Slice {
  text: string;
  /** Where the next slice begins; nothing at the end. */
  next: number | undefined;
  revision: string;
}

/** One page of a search. */
export interface Matches {
  found: Match[];
  /** Pass back as `after` to go on; nothing on the last page. */
  next: string | undefined;
}

/** Where to begin, and how far to read. */
export interface Extent {
  /** The first line, counted from 1. */
  line?: number | undefined;
  /** The byte offset that an earlier slice gave as `next`; goes before `line`. */
  offset?: number | undefined;
  /** Most lines; 1000 if not given. */
  lines?: number | undefined;
}

/**
 * Up to `lines` whole lines, at most 256 KiB, of a text file or of the text read out of a document.
 * One line longer than the bound is cut, and `next` goes on inside it.
 *
 * Throws `NoText` if the file has none, `TextPending` while a document is being read out, and as
 * `files.read`.
 */
export function read(path: string, { line = 1, offset, lines = 1000 }: Extent = {}): Slice {
  const start: host.Position = offset === undefined
    ? { tag: "line", val: count("line", line, U32_MAX) }
    : { tag: "offset", val: wide("offset", offset) };
  const [named, most] = [string("path", path), count("lines", lines, U32_MAX)];
  const { text, next, revision } = asked(() => host.read(named, start, most));
  return { text, next: next === null || next === undefined ? undefined : Number(next), revision };
}

/** The slices of a text from its first line to its last, asked for as they are needed. They are of
 * one content only where their `revision` is the same. */
export function* slices(path: string, lines = 1000): Generator<Slice, void> {
  let slice = read(path, { lines });
  yield slice;
  while (slice.next !== undefined) {
    slice = read(path, { offset: slice.next, lines });
    yield slice;
  }
}

/**
 * Replaces `old` in a file of at most 16 MiB. It must stand there exactly once, or, with `every`,
 * at least once.
 *
 * Throws `NoMatch` if it does not (the message says how often it does), `Conflict` if the file has
 * another revision.
 */
export function replace(
  path: string,
  old: string,
  replacement: string,
  { every, ifRevision }: { every?: boolean | undefined; ifRevision?: string | undefined } = {},
): File {
  const [named, from, to] =
    [string("path", path), string("old", old), string("replacement", replacement)];
  const condition = precondition({ ifRevision });
  return told(asked(() => host.replace(named, from, to, every ? "every" : "only", condition)));
}

/** Appends to a file of at most 16 MiB, creating it if absent. Two appends never lose one another,
 * and none happens twice. */
export function append(path: string, text: string): File {
  const [named, added] = [string("path", path), string("text", text)];
  return told(asked(() => host.append(named, added)));
}

/** What narrows a search. */
export interface Narrowed {
  /** Only in files like this, as in a `.gitignore`. */
  glob?: string | undefined;
}

/** Which page of a search. */
export interface MatchPage extends Narrowed {
  /** `next` of the page before. */
  after?: string | undefined;
  /** 1 to 1000; 1000 if not given. */
  limit?: number | undefined;
}

/** Lines that match a regular expression (syntax of the Rust `regex` crate) in the files under a
 * folder; the empty folder is all that the turn can reach. Pages are asked for as they are
 * needed. */
export function* search(
  folder: string,
  pattern: string,
  { glob }: Narrowed = {},
): Generator<Match, void> {
  let after: string | undefined;
  do {
    const page = searchPage(folder, pattern, { glob, after });
    yield* page.found;
    after = page.next;
  } while (after !== undefined);
}

/**
 * One page of a search. It may be empty and not last.
 *
 * Throws `Invalid` on a pattern, glob, cursor or limit that is none.
 */
export function searchPage(
  folder: string,
  pattern: string,
  { glob, after, limit = 1000 }: MatchPage = {},
): Matches {
  const [named, like] = [string("folder", folder), optional("glob", glob)];
  const [wanted, from] = [string("pattern", pattern), optional("after", after)];
  const most = count("limit", limit, U32_MAX);
  const { found, next } = asked(() => host.search(named, like, wanted, from, most));
  return { found, next: next ?? undefined };
}
