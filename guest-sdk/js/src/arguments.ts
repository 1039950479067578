// Arguments of host calls, checked where the contract's types are narrower than JavaScript's: an
// engine hands others on as a trap.

import * as host from "bailiwick:agent/session@0.1.0";
import type { Precondition, Wide } from "bailiwick:storage/types@0.1.0";

import { Invalid } from "./errors";
import { encoded } from "./utf8";

/** What a file is written from: text goes as UTF-8. */
export type Data = string | Uint8Array | ArrayBuffer;

/** When a write may take effect; both at once are refused. */
export interface Condition {
  /** Only if nothing is there. */
  ifAbsent?: boolean | undefined;
  /** Only if the file still has this revision. */
  ifRevision?: string | undefined;
}

export const U32_MAX = 2 ** 32 - 1;

/** A whole number from 0 to `most`, at most what a number holds exactly. */
export function count(name: string, value: number, most: number): number {
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw new Invalid("number", `\`${name}\` is not a whole number from 0 to ${most}`);
  }
  return value;
}

let hasBigints: boolean | undefined;

/** As `count`, of 64 bits, in the type that this engine has for them. */
export function wide(name: string, value: number): Wide {
  count(name, value, Number.MAX_SAFE_INTEGER);
  hasBigints ??= typeof host.currentStatus().remainingMs === "bigint";
  return hasBigints ? BigInt(value) : value;
}

/** Text that has a UTF-8 form. */
export function string(name: string, value: string): string {
  if (typeof value !== "string") {
    throw new TypeError(`\`${name}\` is a string, and not ${kind(value)}`);
  }
  if (!value.isWellFormed()) {
    throw new Invalid("not-unicode", `\`${name}\` holds half of a character`);
  }
  return value;
}

/** As `string`, or nothing. */
export function optional(name: string, value: string | null | undefined): string | undefined {
  return value === undefined || value === null ? undefined : string(name, value);
}

/** Bytes as they are, text as UTF-8. */
export function content(name: string, data: Data): Uint8Array {
  if (data instanceof Uint8Array) {
    return data;
  }
  return data instanceof ArrayBuffer ? new Uint8Array(data) : encoded(string(name, data));
}

/** A condition, as the contract has it. */
export function precondition({ ifAbsent, ifRevision }: Condition): Precondition {
  if (ifAbsent && ifRevision !== undefined) {
    throw new Invalid("precondition", "a file cannot be absent and have a revision");
  }
  if (ifRevision !== undefined) {
    return { tag: "if-revision", val: string("ifRevision", ifRevision) };
  }
  return { tag: ifAbsent ? "if-absent" : "always" };
}

/** What a value is, for a sentence. */
export function kind(value: unknown): string {
  return value === null ? "null" : typeof value;
}
