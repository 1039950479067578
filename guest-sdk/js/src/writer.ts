import * as host from "bailiwick:storage/files@0.1.0";

import { type Condition, content, type Data, precondition, string } from "./arguments";
import { asked, Closed } from "./errors";
import { type File, told } from "./file";

const CALL_BYTES_MAX = 4 << 20;
const GATHERED_BYTES = 256 << 10;

/** A file being written. It is at its path once `finish` has answered; `abort`, the end of a `using`
 * block before that, an error and mere forgetting leave what was there before. */
export class Writer implements Disposable {
  #host: host.Writer | undefined;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #file: File | undefined;

  constructor(path: string, condition: Condition = {}) {
    const [named, when] = [string("path", path), precondition(condition)];
    this.#host = asked(() => host.openWriter(named, when));
  }

  /** Takes all of the data, text as UTF-8: what is small is gathered, and goes to the host
   * together. */
  write(data: Data): this {
    this.#open();
    const bytes = content("data", data);
    if (this.#gatheredBytes + bytes.length > GATHERED_BYTES) {
      this.flush();
    }
    if (bytes.length > GATHERED_BYTES) {
      this.#hand(bytes);
    } else {
      // Whoever wrote it may use its buffer again.
      this.#gathered.push(typeof data === "string" ? bytes : bytes.slice());
      this.#gatheredBytes += bytes.length;
    }
    return this;
  }

  /** Hands on to the host what was gathered. The file is not made by that. */
  flush(): void {
    const whole = new Uint8Array(this.#gatheredBytes);
    let offset = 0;
    for (const piece of this.#gathered) {
      whole.set(piece, offset);
      offset += piece.length;
    }
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#hand(whole);
  }

  /**
   * Makes the file: from here on it is at its path, whole. Again, it says so again.
   *
   * Throws `Closed` after an error of an earlier write, and once it was given up.
   */
  finish(): File {
    if (this.#file !== undefined) {
      return this.#file;
    }
    const writer = this.#open();
    try {
      this.flush();
      this.#file = told(asked(() => writer.finish()));
      return this.#file;
    } finally {
      this.#release();
    }
  }

  /** Gives the file up, unless it is made already. */
  abort(): void {
    this.#host?.abort();
    this.#release();
  }

  [Symbol.dispose](): void {
    this.abort();
  }

  #hand(bytes: Uint8Array): void {
    const writer = this.#open();
    for (let start = 0; start < bytes.length; start += CALL_BYTES_MAX) {
      asked(() => writer.write(bytes.subarray(start, start + CALL_BYTES_MAX)));
    }
  }

  #open(): host.Writer {
    if (this.#host === undefined) {
      throw new Closed("closed", "this writer is closed");
    }
    return this.#host;
  }

  #release(): void {
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#host?.[Symbol.dispose]?.();
    this.#host = undefined;
  }
}
