// The contract in `wit/`, as JavaScript sees it. 64-bit numbers are numbers to one engine and
// bigints to the other; `Wide` is either.

declare module "bailiwick:storage/types@0.1.0" {
  export type Wide = number | bigint;

  export interface Mount {
    name: string;
    access: "read-only" | "read-write";
  }

  export interface File {
    path: string;
    size: Wide;
    revision: string;
    modifiedMs: Wide;
    mediaType: string;
  }

  export type ErrorCode =
    | "no-scope"
    | "invalid"
    | "denied"
    | "not-found"
    | "conflict"
    | "no-match"
    | "too-large"
    | "no-text"
    | "text-pending"
    | "closed"
    | "unsupported"
    | "busy"
    | "unavailable";

  export interface Error {
    code: ErrorCode;
    reason: string;
    message: string;
    suggestions: string[];
  }

  export type Precondition =
    | { tag: "always" }
    | { tag: "if-absent" }
    | { tag: "if-revision"; val: string };
}

declare module "bailiwick:storage/files@0.1.0" {
  import type { File, Mount, Precondition, Wide } from "bailiwick:storage/types@0.1.0";

  export interface Chunk {
    bytes: Uint8Array;
    size: Wide;
    revision: string;
  }

  export interface Page {
    files: File[];
    folders: string[];
    next?: string | null;
  }

  export class Reader {
    file(): File;
    read(length: number): Uint8Array;
    seek(offset: Wide): void;
    close(): void;
    [Symbol.dispose]?(): void;
  }

  export class Writer {
    write(bytes: Uint8Array): void;
    finish(): File;
    abort(): void;
    [Symbol.dispose]?(): void;
  }

  export function mounts(): Mount[];
  export function read(path: string, offset: Wide, length: number): Chunk;
  export function write(path: string, bytes: Uint8Array, precondition: Precondition): File;
  function remove(path: string, precondition: Precondition): void;
  export { remove as delete };
  export function stat(path: string): File;
  export function listFiles(
    folder: string,
    depth: "children" | "all",
    after: string | undefined,
    limit: number,
  ): Page;
  export function copy(source: string, target: string, precondition: Precondition): File;
  export function move(source: string, target: string, precondition: Precondition): File;
  export function openReader(path: string): Reader;
  export function openWriter(path: string, precondition: Precondition): Writer;
}

declare module "bailiwick:storage/text@0.1.0" {
  import type { File, Precondition, Wide } from "bailiwick:storage/types@0.1.0";

  export type Position = { tag: "line"; val: number } | { tag: "offset"; val: Wide };

  export interface Slice {
    text: string;
    next?: Wide | null;
    revision: string;
  }

  export interface Match {
    path: string;
    line: number;
    text: string;
  }

  export interface Matches {
    found: Match[];
    next?: string | null;
  }

  export function read(path: string, start: Position, lines: number): Slice;
  export function replace(
    path: string,
    old: string,
    replacement: string,
    occurrence: "only" | "every",
    precondition: Precondition,
  ): File;
  export function append(path: string, text: string): File;
  export function search(
    folder: string,
    glob: string | undefined,
    pattern: string,
    after: string | undefined,
    limit: number,
  ): Matches;
}

declare module "bailiwick:storage/spill@0.1.0" {
  import type { Wide } from "bailiwick:storage/types@0.1.0";

  export interface Spilled {
    text: string;
    path?: string | null;
    size: Wide;
  }

  export function spill(name: string, bytes: Uint8Array): Spilled;
}

declare module "bailiwick:agent/log@0.1.0" {
  export type Level = "debug" | "info" | "warn" | "error";

  export function emit(level: Level, message: string): void;
}

declare module "bailiwick:agent/session@0.1.0" {
  import type { Wide } from "bailiwick:storage/types@0.1.0";

  export interface Status {
    cancelled: boolean;
    remainingMs: Wide;
  }

  export function say(part: string): void;
  export function wake(afterMs: Wide, input: string): void;
  export function currentStatus(): Status;
}
