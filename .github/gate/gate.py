"""The fairness gate of the Action: ``fairask audit`` on a table whose labels are all known.

The audit asks for rows batch by batch; the gate answers from the column of labels until the audit is decided. It writes the outputs
of the step and a summary in Markdown, and exits with 0 certified, 1 refuted, 3 undecided (0 if ``UNDECIDED=warn``), 2 wrong use.
Settings come from the environment, as ``action.yml`` passes them.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CODES = {"certified": 0, "refuted": 1, "undecided": 3}
WORDS = {"tpr": "true positive rate", "fpr": "false positive rate", "selection": "selection rate"}


def read_column(path: Path, name: str) -> list[str]:
    """Read one column of a CSV or Parquet file as text."""
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as parquet

        return [str(value) for value in parquet.read_table(path, columns=[name])[name].to_pylist()]
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file)
        if name not in (table.fieldnames or []):
            raise KeyError(name)
        return [row[name] for row in table]


def audit(fairask: str, table: Path, folder: Path, options: list[str]) -> dict[str, object]:
    """Run one step of the audit and return what it printed; exit with 2 if it was refused."""
    command = [fairask, "audit", str(table), "--out", str(folder), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        refuse(done.stderr.strip() or f"fairask ended with code {done.returncode}")


def refuse(reason: str) -> None:
    """Say why there is no verdict, and exit with 2."""
    print(f"::error title=fairask::{reason.splitlines()[0]}")
    print(reason, file=sys.stderr)
    sys.exit(2)


def answer(rows_file: Path, labels: list[str], out: Path) -> Path:
    """Fill in the labels of the rows that were asked for; rows count from 1."""
    with rows_file.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    # Versions before 0.2 count rows from 1, and their sheets have no check codes.
    first = 0 if "check" in rows[0] else 1
    with out.open("w", newline="", encoding="utf-8") as file:
        told = ((row["row"], labels[int(row["row"]) - first], row.get("check", "")) for row in rows)
        csv.writer(file).writerows([("row", "label", "check"), *told])
    return out


def decide(env: dict[str, str], folder: Path) -> dict[str, object]:
    """Go through the audit and return its last certificate."""
    table = Path(env["TABLE"])
    if not table.exists():
        refuse(f"there is no file {table}")
    try:
        labels = read_column(table, env["TRUTH"])
    except KeyError:
        refuse(
            f"{table} has no column {env['TRUTH']!r}" if env["TRUTH"] else "the input truth names no column"
        )
    goal = [
        "--metric",
        env["METRIC"],
        "--tolerance",
        env["TOLERANCE"],
        "--delta",
        env["DELTA"],
    ]
    begin = ["--predictions", env["PREDICTIONS"], "--protected", env["PROTECTED"], *goal]
    begin += ["--budget", str(len(labels)), "--target", "population"]
    if env.get("POSITIVE"):
        begin += ["--positive", env["POSITIVE"]]
    state = audit(env["FAIRASK"], table, folder, begin)
    while state.get("rows_file"):
        told = answer(Path(str(state["rows_file"])), labels, folder / "told.csv")
        state = audit(env["FAIRASK"], table, folder, ["--tell", str(told)])
    certificates: dict[str, dict[str, object]] = state["certificates"]  # type: ignore[assignment]
    return certificates["population"]


def summary(certificate: dict[str, object], env: dict[str, str]) -> str:
    """Return the verdict and the rates by group as Markdown."""
    head = {
        "certified": f"**Certified.** The difference between the groups is at most {env['TOLERANCE']}.",
        "refuted": f"**Refuted.** The difference between the groups is above {env['TOLERANCE']}.",
        "undecided": f"**Undecided.** The labels do not settle whether the difference is within {env['TOLERANCE']}.",
    }[str(certificate["verdict"])]
    rates: dict[str, list[float]] = certificate["rates"]  # type: ignore[assignment]
    lines = [
        "### Fairness gate",
        "",
        head,
        "",
        f"Estimate {certificate['estimate']:.3f}, between {certificate['lower']:.3f} and {certificate['upper']:.3f} "
        f"({certificate['metric']}, error {certificate['delta']}, {certificate['n_labels']:,} labels).",
        "",
        "| group | " + " | ".join(WORDS.get(name, name) for name in rates) + " |",
        "|---" * (len(rates) + 1) + "|",
    ]
    for i, group in enumerate(certificate["groups"]):  # type: ignore[arg-type, var-annotated]
        lines.append(f"| {group} | " + " | ".join(f"{values[i]:.3f}" for values in rates.values()) + " |")
    return "\n".join(lines) + "\n"


def append(variable: str, text: str) -> None:
    """Add text to the file that the runner names, or print it."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)


def main() -> int:
    """Run the gate; return the exit code."""
    env = dict(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="fairask-", dir=env.get("RUNNER_TEMP"))) / "audit"
    certificate = decide(env, folder)
    verdict = str(certificate["verdict"])
    saved = folder / "gate.json"
    saved.write_text(json.dumps(certificate, indent=1), encoding="utf-8")
    append("GITHUB_OUTPUT", f"verdict={verdict}\ncertificate={saved}\n")
    append("GITHUB_STEP_SUMMARY", summary(certificate, env))
    code = CODES[verdict]
    if verdict == "undecided" and env.get("UNDECIDED") == "warn":
        print(
            "::warning title=fairask::The labels do not settle whether the difference is within the tolerance."
        )
        return 0
    if code:
        print(f"::error title=fairask::The audit ended {verdict}.")
    return code


if __name__ == "__main__":
    sys.exit(main())
