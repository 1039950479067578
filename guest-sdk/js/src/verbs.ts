// What a model may call: each tool with its parameters and what it does.

import { type Condition, U32_MAX } from "./arguments";
import * as files from "./files";
import type { File, Page } from "./files";
import * as text from "./text";
import type { Slice } from "./text";
import { decoded, encoded, unfinished } from "./utf8";

/** Answers longer than this are offered to the host for spilling. */
export const SHOWN_BYTES_MAX = 16 << 10;

type Kind = "string" | "boolean" | { minimum: number; maximum: number };

/** One argument of a tool. */
export interface Parameter {
  name: string;
  description: string;
  kind: Kind;
  isRequired: boolean;
}

/** Arguments that were checked. */
export class Arguments {
  readonly #values: Record<string, unknown>;

  constructor(values: Record<string, unknown>) {
    this.#values = values;
  }

  /** A text that is required, or empty. */
  text(name: string): string {
    return this.optionalText(name) ?? "";
  }

  optionalText(name: string): string | undefined {
    return this.#values[name] as string | undefined;
  }

  count(name: string): number | undefined {
    return this.#values[name] as number | undefined;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** A revision says more than that nothing is there, and goes before it. */
  condition(): Condition {
    const ifRevision = this.optionalText("if_revision");
    return { ifRevision, ifAbsent: ifRevision === undefined && this.flag("if_absent") };
  }
}

/** A tool and what it does. */
export interface Verb {
  name: string;
  description: string;
  parameters: Parameter[];
  run(given: Arguments): string;
}

/** As much of a text as is shown at most, whole characters. */
export function head(content: string): string {
  const bytes = encoded(content).subarray(0, SHOWN_BYTES_MAX);
  return decoded(bytes.subarray(0, bytes.length - unfinished(bytes)));
}

/** Whether a text is too long to show. */
export function isLong(content: string): boolean {
  return content.length > SHOWN_BYTES_MAX || encoded(content).length > SHOWN_BYTES_MAX;
}

function required(name: string, description: string): Parameter {
  return { name, description, kind: "string", isRequired: true };
}

function optional(name: string, kind: Kind, description: string): Parameter {
  return { name, description, kind, isRequired: false };
}

function counted(name: string, minimum: number, maximum: number, description: string): Parameter {
  return optional(name, { minimum, maximum }, description);
}

const PATH = required(
  "path",
  "Path of the file, starting with its scope: session/, agent/, workspace/ or skill/<slug>/.",
);
const SOURCE = required("source", "Path of the file to take.");
const TARGET = required("target", "Path that it gets; replaced if there.");
const IF_REVISION = optional(
  "if_revision",
  "string",
  "Only if the file still has this revision, as an earlier answer gave it.",
);
const IF_ABSENT = optional("if_absent", "boolean", "Only if nothing is there yet.");
const AFTER = optional("after", "string", "Where to go on, as the last answer gave it.");

/** The tools, in the order that a model is told of them. */
export const VERBS: Verb[] = [
  {
    name: "list_files",
    description:
      "Lists the files and folders under a folder. Without a folder: every place that can be "
      + "reached.",
    parameters: [
      optional("folder", "string", "Path of the folder."),
      optional("all", "boolean", "Files of all folders below it, too."),
      AFTER,
      counted("limit", 1, 1000, "Most files to list; 100 if not given."),
    ],
    run: (given) => pageLines(files.listPage(given.text("folder"), {
      depth: given.flag("all") ? "all" : "children",
      after: given.optionalText("after"),
      limit: given.count("limit") ?? 100,
    })),
  },
  {
    name: "read_file",
    description:
      "Reads lines of a text file, or of the text of a document. Says where to go on if there "
      + "is more.",
    parameters: [
      PATH,
      counted("line", 1, U32_MAX, "First line, counted from 1."),
      counted(
        "offset",
        0,
        Number.MAX_SAFE_INTEGER,
        "Where to go on, as the last answer gave it.",
      ),
      counted("lines", 1, 10_000, "Most lines to read; 200 if not given."),
    ],
    run: readFile,
  },
  {
    name: "write_file",
    description: "Creates or replaces a file, whole. To change a part of one, use edit_file.",
    parameters: [PATH, required("content", "The whole text."), IF_ABSENT, IF_REVISION],
    run: (given) => {
      const file = files.write(given.text("path"), given.text("content"), given.condition());
      return `Written: ${fileLine(file)}`;
    },
  },
  {
    name: "edit_file",
    description:
      "Replaces text in a file. The old text must stand there exactly once, unless every is "
      + "true.",
    parameters: [
      PATH,
      required("old", "The text that stands there, exactly."),
      required("new", "The text to put in its place."),
      optional("every", "boolean", "Replace it wherever it stands."),
      IF_REVISION,
    ],
    run: (given) => {
      const how = { every: given.flag("every"), ifRevision: given.optionalText("if_revision") };
      const [old, replacement] = [given.text("old"), given.text("new")];
      return `Edited: ${fileLine(text.replace(given.text("path"), old, replacement, how))}`;
    },
  },
  {
    name: "append_to_file",
    description:
      "Appends text to a file, creating it if absent. Ends of lines are yours to write.",
    parameters: [PATH, required("text", "The text to append.")],
    run: (given) => `Appended: ${fileLine(text.append(given.text("path"), given.text("text")))}`,
  },
  {
    name: "search_files",
    description:
      "Finds lines that match a regular expression in the text files under a folder.",
    parameters: [
      required("pattern", "The regular expression; no look-around."),
      optional("folder", "string", "Where to search; everywhere if not given."),
      optional("glob", "string", "Only in files like this, such as *.md."),
      AFTER,
      counted("limit", 1, 1000, "Most lines to find; 50 if not given."),
    ],
    run: searchFiles,
  },
  {
    name: "file_info",
    description: "A file's size, revision, time and media type.",
    parameters: [PATH],
    run: (given) => {
      const file = files.stat(given.text("path"));
      return `${fileLine(file)}, changed ${file.modifiedMs} ms after 1970-01-01 UTC`;
    },
  },
  {
    name: "copy_file",
    description: "Copies a file, also to another scope.",
    parameters: [SOURCE, TARGET, IF_ABSENT],
    run: (given) => {
      const file = files.copy(given.text("source"), given.text("target"), given.condition());
      return `Copied to ${fileLine(file)}`;
    },
  },
  {
    name: "move_file",
    description: "Moves or renames a file.",
    parameters: [SOURCE, TARGET, IF_ABSENT],
    run: (given) => {
      const file = files.move(given.text("source"), given.text("target"), given.condition());
      return `Moved to ${fileLine(file)}`;
    },
  },
  {
    name: "delete_file",
    description: "Removes a file. It cannot be had back.",
    parameters: [PATH, IF_REVISION],
    run: (given) => {
      files.delete(given.text("path"), { ifRevision: given.optionalText("if_revision") });
      return `Deleted: ${given.text("path")}`;
    },
  },
];

function pageLines(page: Page): string {
  const lines = [
    ...page.folders,
    ...page.files.map((file) => `${file.path} (${file.size} bytes)`),
  ];
  if (lines.length === 0 && page.next === undefined) {
    return "There is nothing.";
  }
  return [...lines, ...moreAfter(page.next)].join("\n");
}

function moreAfter(cursor: string | undefined): string[] {
  return cursor === undefined ? [] : [more(`"after": "${cursor}"`)];
}

function more(argument: string): string {
  return `[there is more: go on with ${argument}]`;
}

function readFile(given: Arguments): string {
  const slice = fittingSlice(given);
  const rest = slice.next === undefined ? "" : `\n${more(`"offset": ${slice.next}`)}`;
  return slice.text + rest;
}

/** The slice, or as many of its lines as can be shown at once. */
function fittingSlice(given: Arguments): Slice {
  const [path, line, offset] = [given.text("path"), given.count("line"), given.count("offset")];
  const slice = text.read(path, { line, offset, lines: given.count("lines") ?? 200 });
  if (!isLong(slice.text)) {
    return slice;
  }
  const fitting = head(slice.text).split("\n").length - 1;
  return fitting === 0 ? slice : text.read(path, { line, offset, lines: fitting });
}

function searchFiles(given: Arguments): string {
  const page = text.searchPage(given.text("folder"), given.text("pattern"), {
    glob: given.optionalText("glob"),
    after: given.optionalText("after"),
    limit: given.count("limit") ?? 50,
  });
  const lines = page.found.map((found) => `${found.path}:${found.line}: ${found.text}`);
  if (lines.length === 0 && page.next === undefined) {
    return "No line matches.";
  }
  return [...lines, ...moreAfter(page.next)].join("\n");
}

function fileLine({ path, size, mediaType, revision }: File): string {
  return `${path} (${size} bytes, ${mediaType}, revision ${revision})`;
}
