// Does the calls that its input names, as the guest `script` does, and calls one tool, as the guest
// `tools` does: both as the SDK for JavaScript has them.

import {
  defineAgent,
  dispatch,
  Failure,
  files,
  HostError,
  session,
  spill,
  text,
  tools,
} from "bailiwick-guest";

type Step = Record<string, any>;

export const turn = defineAgent((request) => {
  const asked = JSON.parse(request.input);
  if (Array.isArray(asked)) {
    return JSON.stringify(performAll(asked));
  }
  if (asked.name === undefined) {
    return JSON.stringify(tools());
  }
  const given = typeof asked.arguments === "string" ? asked.arguments : JSON.stringify(asked.arguments);
  return JSON.stringify(dispatch(asked.name, given));
});

function performAll(steps: Step[]): object[] {
  const handles = new Map<string, unknown>();
  return steps.map((step) => {
    try {
      return { ok: perform(step, handles) ?? null };
    } catch (error) {
      if (error instanceof HostError) {
        const { code, reason, message, suggestions } = error;
        return { error: { code, reason, message, suggestions } };
      }
      throw error;
    }
  });
}

function perform(step: Step, handles: Map<string, unknown>): unknown {
  const verb: string = step.do;
  if (Object.hasOwn(VERBS, verb)) {
    return VERBS[verb]?.(step);
  }
  if (Object.hasOwn(OPENING, verb)) {
    handles.set(step.as, OPENING[verb]?.(step));
    return {};
  }
  if (Object.hasOwn(HANDLED, verb)) {
    return HANDLED[verb]?.(handles.get(step.on), step);
  }
  throw new Failure(`\`${verb}\` is no step`);
}

function condition(step: Step): files.Condition {
  return step.if === "absent" ? { ifAbsent: true } : { ifRevision: step.if?.revision };
}

function data(step: Step): files.Data {
  if (typeof step.bytes === "string") {
    return step.bytes;
  }
  const { fill, size } = step.bytes;
  return fill.repeat(size / fill.length + 1).slice(0, size);
}

function read(step: Step): object {
  const { bytes, size, revision } = files.read(step.path, step.offset, step.length);
  return { text: new TextDecoder().decode(bytes), size, revision };
}

function readAll(step: Step): object {
  const whole = files.readBytes(step.path);
  return { length: whole.length, tail: new TextDecoder().decode(whole.slice(-8)) };
}

/** Reads by a handle: the lines, the pieces from an offset on, and the end. */
function readHandle(step: Step): object {
  const lines = [...files.lines(step.path)];
  using reader = files.open(step.path);
  reader.seek(reader.file.size - step.tail);
  const tail = [...reader].map((piece) => new TextDecoder().decode(piece)).join("");
  return { lines, tail, position: reader.position, rest: reader.readAll().length };
}

/** Writes lines by a handle, and leaves it as it is told: finished, or thrown out of. */
function writeHandle(step: Step): object {
  try {
    using writer = files.create(step.path, condition(step));
    for (const line of step.lines) {
      writer.write(`${line}\n`);
    }
    if (step.leave === "throwing") {
      throw new RangeError("on the way");
    }
    return step.leave === "finished" ? writer.finish() : {};
  } catch (error) {
    if (error instanceof RangeError) {
      return {};
    }
    throw error;
  }
}

/** The codes with which calls are refused whose arguments the contract has not; `none` where one is
 * not refused. */
function hostile(): object {
  const half = "\ud800";
  const calls: [string, () => unknown][] = [
    ["stat", () => files.stat(`session/${half}`)],
    ["write", () => files.write("session/half.txt", half)],
    ["append", () => text.append("session/half.txt", half)],
    ["search", () => text.searchPage("", half)],
    ["say", () => session.say(half)],
    ["spill", () => spill("half.txt", half)],
    ["offset", () => files.read("session/a", -1)],
    ["fraction", () => files.read("session/a", 0.5)],
    ["huge", () => files.read("session/a", 2 ** 53)],
    ["not a number", () => files.read("session/a", NaN)],
    ["length", () => files.read("session/a", 0, 2 ** 32)],
    ["line", () => text.read("session/a", { line: -7 })],
    ["wake", () => session.wake(Infinity, "")],
    ["both", () => files.write("session/a", "", { ifAbsent: true, ifRevision: "r" })],
  ];
  console.info("half", half);
  return Object.fromEntries(calls.map(([name, call]) => [name, refusedAs(call)]));
}

/** The names of the errors that calls throw that no typed program makes. */
function untyped(): object {
  const anything = undefined as never;
  const calls: [string, () => unknown][] = [
    ["path", () => files.stat(anything)],
    ["data", () => files.write("session/a", anything)],
    ["depth", () => files.listPage("session", { depth: "some" as never })],
    ["number", () => files.read("session/a", "1" as never)],
  ];
  return Object.fromEntries(calls.map(([name, call]) => [name, refusedAs(call)]));
}

function refusedAs(call: () => unknown): string {
  try {
    call();
    return "none";
  } catch (error) {
    return error instanceof HostError ? error.code : (error as Error).name;
  }
}

/** What QuickJS lacks, and the SDK puts in. */
function engine(step: Step): object {
  const bytes = new Uint8Array(step.bytes);
  const decoder = new TextDecoder();
  const streamed = [...bytes].map((byte) => decoder.decode(new Uint8Array([byte]), { stream: true }));
  let fatal;
  try {
    fatal = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    fatal = (error as Error).name;
  }
  console.warn("seen", { bytes: step.bytes }, 7);
  return {
    whole: new TextDecoder().decode(bytes),
    streamed: streamed.join("") + decoder.decode(),
    marked: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes),
    fatal,
    encoded: [...new TextEncoder().encode(step.text)],
    halved: [...new TextEncoder().encode("\ud800")],
    random: Math.random(),
  };
}

const VERBS: Record<string, (step: Step) => unknown> = {
  read,
  write: (step) => files.write(step.path, data(step), condition(step)),
  delete: (step) => files.delete(step.path, condition(step)),
  stat: (step) => files.stat(step.path),
  list: (step) => ({ paths: [...files.list(step.folder)].map((file) => file.path) }),
  copy: (step) => files.copy(step.source, step.target, condition(step)),
  move: (step) => files.move(step.source, step.target, condition(step)),
  "text-read": (step) => text.read(step.path, { line: step.line, lines: step.lines }),
  replace: (step) =>
    text.replace(step.path, step.old, step.new, { every: step.every, ...condition(step) }),
  append: (step) => text.append(step.path, step.text),
  search: (step) => {
    const found = text.search(step.folder, step.pattern, { glob: step.glob });
    return { found: [...found].map((match) => `${match.path}:${match.line}`) };
  },
  spill: (step) => spill(step.name, data(step)),
  "read-handle": readHandle,
  "write-handle": writeHandle,
  "read-all": readAll,
  hostile,
  untyped,
  engine,
  throw: (step) => {
    throw new Error(step.text, { cause: new Failure("a cause") });
  },
};
const OPENING: Record<string, (step: Step) => unknown> = {
  "open-reader": (step) => files.open(step.path),
  "open-writer": (step) => files.create(step.path, condition(step)),
};
// The handles are whatever an earlier step made.
const HANDLED: Record<string, (handle: any, step: Step) => unknown> = {
  "reader-read": (reader: files.Reader, step) => ({ length: reader.read(step.length).length }),
  "reader-close": (reader: files.Reader) => reader.close(),
  "writer-write": (writer: files.Writer, step) => void writer.write(data(step)).flush(),
  "writer-finish": (writer: files.Writer) => writer.finish(),
  "writer-abort": (writer: files.Writer) => writer.abort(),
};
