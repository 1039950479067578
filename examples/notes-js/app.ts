// Keeps notes for its agent: `note TEXT` adds one, `find PATTERN` shows those that match, `table`
// makes a table of all of them in the session.

import { defineAgent, Failure, files, Park, text } from "bailiwick-guest";

const NOTES = "agent/notes.md";
const TABLE = "session/notes.csv";

export const turn = defineAgent((request) => {
  const [, word, rest] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(request.input) ?? [];
  if (request.answer !== undefined) {
    return note(request.answer.trim());
  }
  if (word === "note") {
    return rest ? note(rest) : new Park("What shall be noted?");
  }
  if (word === "find" && rest) {
    return find(rest);
  }
  if (word === "table") {
    return table();
  }
  throw new Failure("The input is `note TEXT`, `find PATTERN` or `table`.");
});

function note(line: string): string {
  if (line === "" || line.includes("\n")) {
    throw new Failure("A note is one line.");
  }
  const file = text.append(NOTES, `- ${line}\n`);
  console.info(`${file.path} has ${file.size} bytes`);
  return `Noted: ${line}`;
}

function find(pattern: string): string {
  const found = [...text.search("agent", pattern, { glob: "*.md" })];
  return found.map((match) => `${match.line}: ${match.text}`).join("\n") || "No note matches.";
}

function table(): string {
  if (!files.exists(NOTES)) {
    return "There are no notes yet.";
  }
  using target = files.create(TABLE);
  target.write("number,note\r\n");
  let number = 0;
  for (const line of files.lines(NOTES)) {
    number += 1;
    target.write(`${number},${field(line.replace(/^- /, ""))}\r\n`);
  }
  return `${TABLE} has ${target.finish().size} bytes.`;
}

/** A field of a CSV file, in quotes where it needs them. */
function field(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
