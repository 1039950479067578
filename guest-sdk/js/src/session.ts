/**
 * The conversation around this turn.
 * @module
 */

import * as host from "bailiwick:agent/session@0.1.0";

import { string, wide } from "./arguments";
import { payload, TooLarge } from "./errors";

/** Whether this turn shall stop, and the milliseconds left before the host ends it. */
export interface Status {
  cancelled: boolean;
  remainingMs: number;
}

/** A piece of the reply, shown while the turn still runs. The pieces of a turn that is interrupted
 * are kept as its partial reply. */
export function say(part: string): void {
  host.say(string("part", part));
}

/**
 * Runs another turn of this session, with this input, once `afterMs` milliseconds have passed. At
 * most 16 a turn.
 *
 * Throws `TooLarge` with the host's sentence if it is one too many, or its input too long.
 */
export function wake(afterMs: number, input: string): void {
  const [after, text] = [wide("afterMs", afterMs), string("input", input)];
  try {
    host.wake(after, text);
  } catch (thrown) {
    const refusal = payload(thrown);
    throw typeof refusal === "string" ? new TooLarge("wake", refusal) : thrown;
  }
}

/** Where the turn stands. */
export function status(): Status {
  const { cancelled, remainingMs } = host.currentStatus();
  return { cancelled, remainingMs: Number(remainingMs) };
}

/** Whether somebody asked this turn to stop. Finish what is in hand, and return. */
export function cancelled(): boolean {
  return status().cancelled;
}

/** Milliseconds of wall clock left before the host ends the turn. */
export function remainingMs(): number {
  return status().remainingMs;
}
