// The storage verbs as tools for a language model.

import { HostError } from "./errors";
import { spill } from "./spill";
import { Arguments, head, isLong, type Parameter, type Verb, VERBS } from "./verbs";

/** As deep as other parsers of JSON go. */
const DEPTH_MAX = 128;

/** A tool, as models are told of it: what the model calls it by, when to use it and what it answers,
 * and the JSON Schema of its arguments. */
export interface Tool {
  name: string;
  description: string;
  input_schema: object;
}

/** What a tool answered, for the model: the result, or sentences on what went wrong and what to try
 * instead; and whether it went wrong. */
export interface Answer {
  content: string;
  is_error: boolean;
}

/** The tools, for the request to a model. */
export function tools(): Tool[] {
  return VERBS.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: inputSchema(parameters),
  }));
}

/** Does what a model asked for: the name of a tool and its arguments, as JSON text or as what was
 * read of it. What goes wrong is answered in words that the model can act on, and a result too large
 * to show is kept in a file that the answer names. */
export function dispatch(name: string, given: unknown): Answer {
  const verb = VERBS.find((verb) => verb.name === name);
  if (verb === undefined) {
    const names = VERBS.map((verb) => verb.name).join(", ");
    return wrong(`There is no tool \`${name}\`. The tools are ${names}.`);
  }
  try {
    return { content: shown(verb, verb.run(checked(verb, parsed(verb, given)))), is_error: false };
  } catch (error) {
    if (error instanceof HostError) {
      return wrong(error.advice());
    }
    if (error instanceof Fault) {
      return wrong(error.message);
    }
    throw error;
  }
}

/** A fault of the arguments, in a sentence for the model. */
class Fault extends Error {}

function wrong(content: string): Answer {
  return { content, is_error: true };
}

function inputSchema(parameters: Parameter[]): object {
  return {
    type: "object",
    properties: Object.fromEntries(parameters.map((each) => [each.name, schema(each)])),
    required: parameters.filter((each) => each.isRequired).map((each) => each.name),
    additionalProperties: false,
  };
}

function schema({ kind, description }: Parameter): object {
  return typeof kind === "string"
    ? { type: kind, description }
    : { type: "integer", ...kind, description };
}

/** The arguments. No text at all is none, which some models send so. */
function parsed(verb: Verb, given: unknown): Record<string, unknown> {
  const value = typeof given === "string" ? read(given) : given;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Fault(`The arguments are not a JSON object. ${usage(verb)}`);
  }
  const there = Object.entries(value).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(there);
}

function read(json: string): unknown {
  if (isDeep(json)) {
    throw new Fault("The arguments are not JSON: they are nested too deeply.");
  }
  try {
    return JSON.parse(json.trim() === "" ? "{}" : json, wellFormed);
  } catch (error) {
    throw new Fault(`The arguments are not JSON: ${error instanceof Error ? error.message : error}.`);
  }
}

/** Whether JSON goes deeper than a parser that calls itself has a stack for. */
function isDeep(json: string): boolean {
  let [depth, isQuoted] = [0, false];
  for (let index = 0; index < json.length && depth <= DEPTH_MAX; index += 1) {
    const character = json.charAt(index);
    if (character === '"') {
      isQuoted = !isQuoted;
    } else if (isQuoted) {
      index += character === "\\" ? 1 : 0;
    } else if (character === "[" || character === "{") {
      depth += 1;
    } else if (character === "]" || character === "}") {
      depth -= 1;
    }
  }
  return depth > DEPTH_MAX;
}

/** Half of a character, escaped, is none that the host could be told. */
function wellFormed(name: string, value: unknown): unknown {
  if (!name.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) {
    throw new SyntaxError("half of a character");
  }
  return value;
}

/** Arguments, each declared, of its kind, and none that is required missing. */
function checked(verb: Verb, values: Record<string, unknown>): Arguments {
  const known = new Set(verb.parameters.map((each) => each.name));
  for (const name of Object.keys(values)) {
    if (!known.has(name)) {
      throw new Fault(`There is no argument \`${name}\`. ${usage(verb)}`);
    }
  }
  for (const each of verb.parameters) {
    if (!Object.hasOwn(values, each.name)) {
      if (each.isRequired) {
        throw new Fault(`\`${each.name}\` is missing. ${usage(verb)}`);
      }
    } else if (!admits(each, values[each.name])) {
      throw new Fault(`\`${each.name}\` is not ${noun(each)}. ${usage(verb)}`);
    }
  }
  return new Arguments(values);
}

function admits({ kind }: Parameter, value: unknown): boolean {
  if (typeof kind === "string") {
    return typeof value === kind;
  }
  return Number.isInteger(value) && Number(value) >= kind.minimum && Number(value) <= kind.maximum;
}

function noun({ kind }: Parameter): string {
  if (typeof kind !== "string") {
    return `a whole number from ${kind.minimum} to ${kind.maximum}`;
  }
  return kind === "boolean" ? "true or false" : "a string";
}

/** What a tool takes, in a sentence. */
function usage({ name, parameters }: Verb): string {
  const takes = parameters.map((each) =>
    `\`${each.name}\` (${noun(each)}, ${each.isRequired ? "required" : "optional"})`
  );
  return `\`${name}\` takes ${takes.join(", ")}.`;
}

/** The content where it is short, what the host shows of it where it is not. */
function shown(verb: Verb, content: string): string {
  if (!isLong(content)) {
    return content;
  }
  try {
    return spill(`${verb.name}.txt`, content).text;
  } catch (error) {
    if (error instanceof HostError) {
      return `${head(content)}\n[cut here: ${error.message}]`;
    }
    throw error;
  }
}
