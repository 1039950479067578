// What programs expect of any engine, and QuickJS has not: put in where it is missing.

import { kind } from "./arguments";
import * as log from "./log";
import { decoded, decodedStrictly, encoded, unfinished } from "./utf8";

class Utf8Encoder {
  readonly encoding = "utf-8";

  encode(text = ""): Uint8Array<ArrayBuffer> {
    return encoded(String(text));
  }
}

const LABELS = ["utf-8", "utf8", "unicode-1-1-utf-8"];
const BYTE_ORDER_MARK = "\ufeff";

class Utf8Decoder {
  readonly encoding = "utf-8";
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  #kept = new Uint8Array();
  #isAtStart = true;

  constructor(label = "utf-8", options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    if (!LABELS.includes(label.trim().toLowerCase())) {
      throw new RangeError(`there is no encoding \`${label}\` here, but utf-8 alone`);
    }
    this.fatal = options.fatal ?? false;
    this.ignoreBOM = options.ignoreBOM ?? false;
  }

  decode(data: ArrayBuffer | ArrayBufferView = new Uint8Array(), { stream = false } = {}): string {
    const bytes = joined(this.#kept, viewed(data));
    const end = bytes.length - (stream ? unfinished(bytes) : 0);
    this.#kept = bytes.slice(end);
    const text = this.#text(bytes.subarray(0, end));
    const isMarked = this.#isAtStart && !this.ignoreBOM && text.startsWith(BYTE_ORDER_MARK);
    this.#isAtStart = !stream || (this.#isAtStart && text === "");
    return isMarked ? text.slice(1) : text;
  }

  #text(bytes: Uint8Array): string {
    const text = this.fatal ? decodedStrictly(bytes) : decoded(bytes);
    if (text === undefined) {
      this.#kept = new Uint8Array();
      this.#isAtStart = true;
      throw new TypeError("the bytes are not UTF-8");
    }
    return text;
  }
}

function viewed(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (data instanceof ArrayBuffer) {
    return new Uint8Array(data);
  }
  if (!ArrayBuffer.isView(data)) {
    throw new TypeError(`bytes are to be decoded, and not ${kind(data)}`);
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** Values as a line of the log. */
function line(values: unknown[]): string {
  return values.map(shown).join(" ");
}

function shown(value: unknown): string {
  if (value instanceof Error) {
    return value.stack ? `${value}\n${value.stack}` : String(value);
  }
  if (typeof value !== "object" || value === null) {
    return String(value);
  }
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

const CONSOLE = {
  debug: (...values: unknown[]) => log.debug(line(values)),
  log: (...values: unknown[]) => log.info(line(values)),
  info: (...values: unknown[]) => log.info(line(values)),
  warn: (...values: unknown[]) => log.warn(line(values)),
  error: (...values: unknown[]) => log.error(line(values)),
};

const globals = globalThis as Record<string, unknown>;
globals["TextEncoder"] ??= Utf8Encoder;
globals["TextDecoder"] ??= Utf8Decoder;
globals["console"] ??= CONSOLE;
