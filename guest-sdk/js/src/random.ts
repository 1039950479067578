// A component is a snapshot of an engine that has started, and QuickJS has drawn its seed by then:
// without this, each turn of a guest draws the same numbers.

interface Engine {
  crypto?: unknown;
  performance?: { now(): number };
}

const engine = globalThis as Engine;

/** Gives `Math.random` another course, drawn from the clocks and the turn's input, where the engine
 * has none of its own. It is no source of secrets. */
export function reseed(input: string): void {
  if (engine.crypto !== undefined) {
    return;
  }
  const clock = (engine.performance?.now() ?? 0) * 1e6;
  const seed = [Date.now(), clock, clock / 2 ** 32, ...input.slice(0, 256)];
  const next = generator(seed.map((part) => typeof part === "string" ? part.charCodeAt(0) : part));
  Math.random = () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** Numbers of 32 bits: Chris Doty-Humphrey's small fast chaotic generator (sfc32). */
function generator(seed: number[]): () => number {
  let [a, b, c, counter] = [0, 0, 0, 1];
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  };
  for (const part of seed) {
    a ^= part;
    next();
  }
  for (let round = 0; round < 12; round += 1) {
    next();
  }
  return next;
}
