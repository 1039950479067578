// Sums up a CSV file by a column: the input is its path under `workspace/` and the column's name.

import { defineAgent, Failure, files } from "bailiwick-guest";

import { type Row, rows, written } from "./table";

const SUMMARY = "session/summary.csv";

export const turn = defineAgent((request) => {
  const [, name, column] = /^\s*(\S*)\s*(.*?)\s*$/.exec(request.input) ?? [];
  const source = `workspace/${name}`;
  if (column === undefined || !files.exists(source)) {
    throw new Failure(`There is no file /${source}.`);
  }
  const [header = [], ...table] = rows(files.lines(source));
  const place = header.indexOf(column);
  if (place < 0) {
    throw new Failure(`/${source} has the columns ${header.join(", ")}, and not \`${column}\`.`);
  }
  const groups = Map.groupBy(table, (row) => row[place] ?? "");
  const measured = header.keys().toArray().filter((each) => each !== place && isMeasured(groups, each));
  using target = files.create(SUMMARY);
  target.write(written([column, "rows", ...measured.map((each) => header[each] ?? "")]));
  for (const [value, group] of [...groups].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const means = measured.map((each) => mean(group, each).toFixed(1));
    target.write(written([value, String(group.length), ...means]));
  }
  target.finish();
  return files.readText(SUMMARY);
});

/** Whether each group has numbers in a column, and nothing else but what is not known. */
function isMeasured(groups: Map<string, Row[]>, column: number): boolean {
  return groups.values().every((group) =>
    numbers(group, column).length > 0
    && group.every((row) => row[column] === "NA" || isNumber(row[column]))
  );
}

function mean(group: Row[], column: number): number {
  const values = numbers(group, column);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function numbers(group: Row[], column: number): number[] {
  return group.map((row) => row[column]).filter(isNumber).map(Number);
}

function isNumber(value: string | undefined): value is string {
  return /^-?\d+(\.\d+)?$/.test(value ?? "");
}
