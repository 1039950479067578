// What the SDK sees to in every engine, for projects without the types of a browser or of Node:
// `"types": ["bailiwick-guest/globals"]` in tsconfig.json.

/** Lines of the turn's log: `log` and `info` at the level info, the others at their own. */
declare const console: Record<
  "debug" | "log" | "info" | "warn" | "error",
  (...values: unknown[]) => void
>;

/** Text as UTF-8. */
declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array<ArrayBuffer>;
}

/** UTF-8 as text; of no other encoding. */
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}
