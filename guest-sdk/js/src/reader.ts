import * as host from "bailiwick:storage/files@0.1.0";

import { count, string, U32_MAX, wide } from "./arguments";
import { asked, Closed, NoText } from "./errors";
import { type File, told } from "./file";
import { decodedStrictly, unfinished } from "./utf8";

export const READ_BYTES_MAX = 4 << 20;
const PIECE_BYTES = 256 << 10;

/** A file being read, pinned to the revision it was opened at; an iterable of its bytes from here
 * on, in pieces of up to 256 KiB. */
export class Reader implements Disposable, Iterable<Uint8Array> {
  /** The file, as it was when it was opened. */
  readonly file: File;
  #host: host.Reader | undefined;
  #position = 0;

  constructor(path: string) {
    const named = string("path", path);
    const reader = asked(() => host.openReader(named));
    this.#host = reader;
    this.file = told(reader.file());
  }

  /** Where the next read begins, in bytes. */
  get position(): number {
    return this.#position;
  }

  /**
   * Up to `length` bytes, at most 4 MiB; empty at the end. Each is a call of the host: read large
   * pieces.
   *
   * Throws `Conflict` if the file was replaced or deleted and its pinned bytes are gone.
   */
  read(length: number): Uint8Array {
    const reader = this.#open();
    const most = count("length", length, U32_MAX);
    const bytes = asked(() => reader.read(most));
    this.#position += bytes.length;
    return bytes;
  }

  /** All bytes from here on. */
  readAll(): Uint8Array {
    const pieces = [...this.#pieces(READ_BYTES_MAX)];
    const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
    let offset = 0;
    for (const piece of pieces) {
      whole.set(piece, offset);
      offset += piece.length;
    }
    return whole;
  }

  /** Goes to an offset, in bytes; past the end there is nothing to read. */
  seek(offset: number): void {
    const reader = this.#open();
    reader.seek(wide("offset", offset));
    this.#position = offset;
  }

  /** The lines from here on, of UTF-8 text, without their ends (`\n` or `\r\n`). Throws `NoText`
   * where it is none. */
  *lines(): Generator<string, void> {
    // Of the line that is not over: a long one is put together once.
    let kept: string[] = [];
    for (const text of this.#texts()) {
      const [end = "", ...lines] = text.split("\n");
      kept.push(end);
      const begun = lines.pop();
      if (begun !== undefined) {
        yield withoutReturn(kept.join(""));
        yield* lines.map(withoutReturn);
        kept = [begun];
      }
    }
    const last = kept.join("");
    if (last !== "") {
      yield withoutReturn(last);
    }
  }

  [Symbol.iterator](): Generator<Uint8Array, void> {
    return this.#pieces(PIECE_BYTES);
  }

  /** Frees the handle early; the end of a `using` block does so too. */
  close(): void {
    this.#host?.close();
    this.#host?.[Symbol.dispose]?.();
    this.#host = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  *#pieces(length: number): Generator<Uint8Array, void> {
    while (this.#position < this.file.size) {
      const piece = this.read(length);
      if (piece.length === 0) {
        return;
      }
      yield piece;
    }
  }

  /** The pieces as text, cut between characters. */
  *#texts(): Generator<string, void> {
    let kept = new Uint8Array();
    for (const piece of this.#pieces(PIECE_BYTES)) {
      const bytes = new Uint8Array(kept.length + piece.length);
      bytes.set(kept);
      bytes.set(piece, kept.length);
      const end = bytes.length - unfinished(bytes);
      yield utf8(this.file.path, bytes.subarray(0, end));
      kept = bytes.slice(end);
    }
    yield utf8(this.file.path, kept);
  }

  #open(): host.Reader {
    if (this.#host === undefined) {
      throw new Closed("closed", "this reader is closed");
    }
    return this.#host;
  }
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** The text of these bytes of a file. */
export function utf8(path: string, bytes: Uint8Array): string {
  const text = decodedStrictly(bytes);
  if (text === undefined) {
    throw new NoText("not-utf-8", `\`${path}\` is not UTF-8 text.`);
  }
  return text;
}
