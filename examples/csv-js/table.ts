// Tables of comma-separated values, as RFC 4180 has them.

/** The fields of a row. */
export type Row = string[];

/** The rows of a table, of its lines. A field in quotes may go on over several. */
export function* rows(lines: Iterable<string>): Generator<Row, void> {
  let kept = "";
  for (const line of lines) {
    kept += line;
    if (isWhole(kept)) {
      yield fields(kept);
      kept = "";
    } else {
      kept += "\n";
    }
  }
}

/** Whether all quotes are closed. */
function isWhole(text: string): boolean {
  return (text.match(/"/g)?.length ?? 0) % 2 === 0;
}

function fields(row: string): Row {
  const found = `,${row}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...found].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "");
}

/** A row as it is written. */
export function written(row: Row): string {
  return `${row.map(field).join(",")}\r\n`;
}

function field(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
