/**
 * What the host answers when it does not do what was asked: one class for each code of the
 * contract, all of them a `HostError`.
 * @module
 */

import type { ErrorCode, Error as Refusal } from "bailiwick:storage/types@0.1.0";

export type { ErrorCode };

/** A host call that was refused or failed. Its `message` is one or two sentences that a model can
 * act on. */
export abstract class HostError extends Error {
  /** The name of the code in the contract, such as `not-found`. */
  abstract readonly code: ErrorCode;
  /** A stable word within the code, such as `climbs-out`; new ones may come. */
  readonly reason: string;
  /** Paths to try instead; empty unless there is a good one. */
  readonly suggestions: readonly string[];

  constructor(reason: string, message: string, suggestions: readonly string[] = []) {
    super(message);
    this.name = new.target.name;
    this.reason = reason;
    this.suggestions = suggestions;
  }

  /** The message, and the paths to try instead: what to put in front of a model. */
  advice(): string {
    if (this.suggestions.length === 0) {
      return this.message;
    }
    const paths = this.suggestions.map((path) => `\`${path}\``).join(", ");
    return `${this.message.replace(/\.+$/, "")}. Try: ${paths}.`;
  }
}

/** The path names no scope. `suggestions` holds the same path under each scope. */
export class NoScope extends HostError {
  override readonly code = "no-scope";
}

/** A malformed argument: a path, cursor, pattern or bound. Refused, never repaired. */
export class Invalid extends HostError {
  override readonly code = "invalid";
}

/** The grant does not allow it. The same whether or not the file exists. */
export class Denied extends HostError {
  override readonly code = "denied";
}

/** Nothing is there. */
export class NotFound extends HostError {
  override readonly code = "not-found";
}

/** A precondition failed: the file exists, is gone, or has another revision. */
export class Conflict extends HostError {
  override readonly code = "conflict";
}

/** The text to replace does not stand there, or not exactly once. */
export class NoMatch extends HostError {
  override readonly code = "no-match";
}

/** Over a size, count or length bound, or a quota. The message names it and its number. */
export class TooLarge extends HostError {
  override readonly code = "too-large";
}

/** Text was asked of a file that has none. */
export class NoText extends HostError {
  override readonly code = "no-text";
}

/** The text of a document is still being read out. Ask again. */
export class TextPending extends HostError {
  override readonly code = "text-pending";
}

/** The handle was finished, closed, or poisoned by an earlier error. */
export class Closed extends HostError {
  override readonly code = "closed";
}

/** This store or this host cannot do it. */
export class Unsupported extends HostError {
  override readonly code = "unsupported";
}

/** The host is short of memory, handles or connections. Ask again shortly. */
export class Busy extends HostError {
  override readonly code = "busy";
}

/** Storage did not answer. The message says whether anything may have changed. */
export class Unavailable extends HostError {
  override readonly code = "unavailable";
}

type Class = new (reason: string, message: string, suggestions: readonly string[]) => HostError;

const CLASSES: Record<ErrorCode, Class> = {
  "no-scope": NoScope,
  invalid: Invalid,
  denied: Denied,
  "not-found": NotFound,
  conflict: Conflict,
  "no-match": NoMatch,
  "too-large": TooLarge,
  "no-text": NoText,
  "text-pending": TextPending,
  closed: Closed,
  unsupported: Unsupported,
  busy: Busy,
  unavailable: Unavailable,
};

/** Calls the host, its refusals thrown as errors of this module. */
export function asked<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    const refusal = payload(thrown);
    if (!isRefusal(refusal)) {
      throw thrown;
    }
    throw new CLASSES[refusal.code](refusal.reason, refusal.message, refusal.suggestions);
  }
}

/** What the contract calls the error: engines wrap it in one of their own, which need not be an
 * `Error` to the guest. */
export function payload(thrown: unknown): unknown {
  const isObject = typeof thrown === "object" && thrown !== null;
  return isObject && "payload" in thrown ? thrown.payload : thrown;
}

function isRefusal(value: unknown): value is Refusal {
  return typeof value === "object" && value !== null && "code" in value
    && typeof value.code === "string" && Object.hasOwn(CLASSES, value.code);
}
