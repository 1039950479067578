"""Sums up a CSV file by a column: the input is its path under `workspace/` and the column's name.
Plain files and the standard library; of the SDK, the turn alone."""

import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bailiwick_guest import Failure, Request, agent

SUMMARY = Path("/session/summary.csv")


@agent
def run(request: Request) -> str:
    name, _, column = request.input.strip().partition(" ")
    source = Path("/workspace") / name
    if not source.is_file():
        raise Failure(f"There is no file {source}.")
    with source.open(newline="", encoding="utf-8") as lines:
        rows = csv.DictReader(lines)
        columns = rows.fieldnames or []
        if column not in columns:
            raise Failure(f"{source} has the columns {', '.join(columns)}, and not `{column}`.")
        groups = grouped(rows, column)
    measured = [name for name in columns if name != column and is_measured(groups, name)]
    with SUMMARY.open("w", newline="", encoding="utf-8") as target:
        table = csv.writer(target)
        table.writerow([column, "rows", *measured])
        for value, rows_of_value in sorted(groups.items()):
            means = [f"{mean(rows_of_value, name):.1f}" for name in measured]
            table.writerow([value, len(rows_of_value), *means])
    return SUMMARY.read_text(encoding="utf-8")


def grouped(rows: Iterable[dict], column: str) -> dict[str, list[dict]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def is_measured(groups: dict[str, list[dict]], name: str) -> bool:
    """Whether each group has numbers in a column, and nothing else but what is not known."""
    return all(
        numbers(rows, name) and all(row[name] == "NA" or is_number(row[name]) for row in rows)
        for rows in groups.values()
    )


def mean(rows: list[dict], name: str) -> float:
    return statistics.fmean(numbers(rows, name))


def numbers(rows: list[dict], name: str) -> list[float]:
    return [float(row[name]) for row in rows if is_number(row[name])]


def is_number(value: str) -> bool:
    return value.replace(".", "", 1).removeprefix("-").isdecimal()
