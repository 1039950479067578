// UTF-8, by whatever the engine has for it. QuickJS has no `TextEncoder`, but strings of bytes
// (`btoa`, `escape`) and `Uint8Array.fromBase64`, which are a hundred times faster than a loop.

interface Base64 {
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

interface Engine {
  TextEncoder?: new () => { encode(text: string): Uint8Array<ArrayBuffer> };
  TextDecoder?: new (label: string, options: object) => { decode(bytes: Uint8Array): string };
  btoa(bytes: string): string;
  atob(text: string): string;
  escape(text: string): string;
  unescape(text: string): string;
}

// Taken before `web.ts` puts its own in.
const engine = globalThis as unknown as Engine;
const encoder = engine.TextEncoder && new engine.TextEncoder();
const lenient = engine.TextDecoder && new engine.TextDecoder("utf-8", { ignoreBOM: true });
const strict = engine.TextDecoder
  && new engine.TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** Text as UTF-8; half a character as U+FFFD. */
export function encoded(text: string): Uint8Array<ArrayBuffer> {
  if (encoder) {
    return encoder.encode(text);
  }
  const bytes = isAscii(text) ? text : engine.unescape(encodeURIComponent(text.toWellFormed()));
  return (Uint8Array as unknown as Base64).fromBase64(engine.btoa(bytes));
}

/** UTF-8 as text; what is none as U+FFFD. */
export function decoded(bytes: Uint8Array): string {
  if (lenient) {
    return lenient.decode(bytes);
  }
  const string = asString(bytes);
  try {
    return fromUtf8(string);
  } catch {
    return fromUtf8(repaired(string));
  }
}

/** As `decoded`, but nothing where it is no UTF-8. */
export function decodedStrictly(bytes: Uint8Array): string | undefined {
  try {
    return strict ? strict.decode(bytes) : fromUtf8(asString(bytes));
  } catch {
    return undefined;
  }
}

/** How many bytes at the end begin a character that is not all there. */
export function unfinished(bytes: Uint8Array): number {
  const tail = bytes.subarray(Math.max(0, bytes.length - 3));
  return UNFINISHED.exec(String.fromCharCode(...tail))?.[0].length ?? 0;
}

function isAscii(text: string): boolean {
  return !/[^\x00-\x7f]/.test(text);
}

/** A character for each byte. */
function asString(bytes: Uint8Array): string {
  return engine.atob((bytes as unknown as { toBase64(): string }).toBase64());
}

/** Throws where it is no UTF-8. */
function fromUtf8(string: string): string {
  return isAscii(string) ? string : decodeURIComponent(engine.escape(string));
}

/** Each longest start of a character that does not go on as U+FFFD, as the Encoding Standard has
 * it. */
function repaired(string: string): string {
  return string.replace(SEQUENCES, (sequence, isWhole) => (isWhole ? sequence : "\xef\xbf\xbd"));
}

const WHOLE = [
  "[\\x00-\\x7f]+",
  "[\\xc2-\\xdf][\\x80-\\xbf]",
  "\\xe0[\\xa0-\\xbf][\\x80-\\xbf]",
  "[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}",
  "\\xed[\\x80-\\x9f][\\x80-\\xbf]",
  "\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}",
  "[\\xf1-\\xf3][\\x80-\\xbf]{3}",
  "\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}",
].join("|");
const BEGUN = [
  "\\xe0[\\xa0-\\xbf]?",
  "[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]?",
  "\\xed[\\x80-\\x9f]?",
  "\\xf0(?:[\\x90-\\xbf][\\x80-\\xbf]?)?",
  "[\\xf1-\\xf3][\\x80-\\xbf]{0,2}",
  "\\xf4(?:[\\x80-\\x8f][\\x80-\\xbf]?)?",
  "[\\xc2-\\xdf]",
].join("|");
const SEQUENCES = new RegExp(`(${WHOLE})|${BEGUN}|[^]`, "g");
const UNFINISHED = new RegExp(`(?:${BEGUN})$`);
