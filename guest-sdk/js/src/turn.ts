import { kind } from "./arguments";
import { HostError } from "./errors";
import * as log from "./log";
import { reseed } from "./random";

/** What the caller sent. */
export interface Request {
  /** Usually JSON. */
  input: string;
  /** On the turn that resumes a parked one: what the person answered. */
  answer: string | undefined;
  /** 1 on the first try; more when a host died during an earlier one. */
  attempt: number;
}

/** What a turn returns that waits for a person. The session's next turn carries the answer. */
export class Park {
  readonly question: string;

  constructor(question: string) {
    this.question = question;
  }
}

/** A failure that the guest reports itself: the caller reads its message, and those of what caused
 * it. */
export class Failure extends Error {
  override readonly name = "Failure";
}

/** What a guest's module exports as `turn`. */
export interface Turn {
  run(request: HostRequest): Outcome;
}

interface HostRequest {
  input: string;
  answer?: string | null;
  attempt: number;
}

type Outcome = { tag: "reply" | "park"; val: string };

/**
 * Makes a function the guest's turn: `export const turn = defineAgent((request) => "reply")`. It
 * takes a `Request` and returns the reply, or a `Park`; an error that leaves it fails the turn, and
 * is logged with its place unless it is a `Failure` or a `HostError`.
 */
export function defineAgent(run: (request: Request) => string | Park): Turn {
  return {
    run(request) {
      try {
        reseed(request.input);
        return outcome(run({ ...request, answer: request.answer ?? undefined }));
      } catch (failure) {
        throw refusal(failure);
      }
    },
  };
}

function outcome(returned: string | Park): Outcome {
  if (returned instanceof Park) {
    return { tag: "park", val: unicode(returned.question) };
  }
  return { tag: "reply", val: unicode(returned) };
}

function unicode(text: unknown): string {
  if (text instanceof Promise) {
    throw new TypeError("a turn is no async function: calls of the host wait by themselves");
  }
  if (typeof text !== "string") {
    throw new TypeError(`a turn returns a string or a Park, and not ${kind(text)}`);
  }
  if (!text.isWellFormed()) {
    throw new TypeError("a turn returned half of a character");
  }
  return text;
}

/** What both engines hand to the host as the turn's error. */
function refusal(failure: unknown): Error & { payload: string } {
  if (!(failure instanceof Failure || failure instanceof HostError)) {
    log.error(`${told(failure)}${place(failure)}`);
  }
  const payload = explained(failure).toWellFormed();
  return Object.assign(new Error(payload), { payload });
}

/** The messages of an error and its causes, without those that repeat what was said. */
function explained(failure: unknown): string {
  let text = told(failure);
  const seen = new Set([failure]);
  let cause = causeOf(failure);
  while (cause !== undefined && !seen.has(cause)) {
    seen.add(cause);
    if (!text.includes(told(cause))) {
      text += `: ${told(cause)}`;
    }
    cause = causeOf(cause);
  }
  return text;
}

function causeOf(failure: unknown): unknown {
  return failure instanceof Error ? failure.cause : undefined;
}

function told(failure: unknown): string {
  if (failure instanceof Failure || failure instanceof HostError) {
    return failure.message;
  }
  try {
    return String(failure);
  } catch {
    return "something was thrown that has no text";
  }
}

function place(failure: unknown): string {
  const stack = failure instanceof Error ? failure.stack : undefined;
  return typeof stack === "string" ? `\n${stack.trimEnd()}` : "";
}
