/**
 * Write agent guests for Bailiwick in JavaScript or TypeScript.
 *
 * A guest is a module that exports a turn: `export const turn = defineAgent((request) => "reply")`.
 * The function takes what the caller sent and returns the reply. Between the two it keeps files in
 * the few places that the host gave its turn: `session/…` lives as long as the conversation,
 * `agent/…` as long as the agent, `workspace/…` is shared by the workspace's agents, and
 * `skill/<slug>/…` is a read-only package.
 *
 * - `files`: read, write, list, copy, move, delete; `files.open` and `files.create`, for files of any
 *   size.
 * - `text`: slices by line, exact replacement, appending, searching.
 * - `spill`: a result too large to show goes to a file, a digest of it to the model.
 * - `session`: pieces of the reply while the turn runs, a later turn, the time that is left.
 * - `log` and `console`: lines about the guest's own work.
 * - `tools` and `dispatch`: all of it as tools for a language model, in two lines.
 * - `errors`: what the host answers when it does not do what was asked, a class each.
 *
 * No call of the host is asynchronous: the host waits, and the guest with it.
 * @module
 */

/// <reference path="./contract.d.ts" />

import "./web";

export * as errors from "./errors";
export { HostError } from "./errors";
export * as files from "./files";
export type { File } from "./file";
export * as log from "./log";
export { type Mount, mounts } from "./places";
export * as session from "./session";
export { spill, type Spilled } from "./spill";
export * as text from "./text";
export { type Answer, dispatch, type Tool, tools } from "./tools";
export { defineAgent, Failure, Park, type Request, type Turn } from "./turn";
