/**
 * Lines that a guest reports about its own work; the host keeps them with the turn. `console` does
 * the same.
 * @module
 */

import { emit, type Level } from "bailiwick:agent/log@0.1.0";

/** A line for whoever looks for a fault. */
export function debug(message: unknown): void {
  report("debug", message);
}

/** A line on the normal course of the turn. */
export function info(message: unknown): void {
  report("info", message);
}

/** A line on something unexpected that the turn gets over. */
export function warn(message: unknown): void {
  report("warn", message);
}

/** A line on something that keeps the turn from its work. */
export function error(message: unknown): void {
  report("error", message);
}

function report(level: Level, message: unknown): void {
  emit(level, String(message).toWellFormed());
}
