import * as host from "bailiwick:storage/spill@0.1.0";

import { content, type Data, string } from "./arguments";
import { asked } from "./errors";

/** What is left to show of a result that was kept. */
export interface Spilled {
  /** What to put in front of the model. */
  text: string;
  /** Where the whole of it is, under `session/spill/`; nothing if it fitted. */
  path: string | undefined;
  /** Bytes. */
  size: number;
}

/**
 * Keeps a result where it is found again, and answers with what to show of it: the whole text if it
 * fits, else its head and tail on whole lines and a sentence that names the file under
 * `session/spill/`. `name` becomes part of the file's name (`table.csv`); the same content under
 * the same name is the same file.
 *
 * Throws `Invalid` if `name` is no file's name, and whatever keeps the file from being written.
 */
export function spill(name: string, data: Data): Spilled {
  const [named, bytes] = [string("name", name), content("data", data)];
  const { text, path, size } = asked(() => host.spill(named, bytes));
  return { text, path: path ?? undefined, size: Number(size) };
}
