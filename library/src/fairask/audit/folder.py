"""The folder of an audit: what ``fairask audit`` writes and reads between its steps.

``audit.json`` is the state: the table's name and digest, the columns, and :meth:`Audit.to_dict`. It is
written first. Sheets of rows (``rows-1.csv``, ...) and the certificate (``certificate.html``, ``.txt`` and
``.json``) follow from it, and are made again if they are missing.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from fairask.audit.audit import Audit
from fairask.audit.draws import SKIPPED, AuditQuery
from fairask.audit.outcome import Decided, RowsAwaited
from fairask.audit.plan import TARGETS, AuditPlan
from fairask.audit.request import AuditError, AuditRequest
from fairask.audit.sheets import read_labels, rows_in, sheet_name, telling_columns, write_sheet
from fairask.audit.table import AuditTable, open_audit_table, shown_name
from fairask.metrics import Int
from fairask.pools.places import local_path
from fairask.tables.formats import TableFormat
from fairask.tables.groups import as_specs, protected_columns
from fairask.tables.labels import check_columns
from fairask.tables.sheets import check_returned, write_whole

STATE = "audit.json"
#: Sheets of format 1 count rows from 1 and have no check codes; those of format 2 count from 0.
_FORMAT = 2
_BASE = {1: 1, _FORMAT: 0}
_PARTS = ("pool", "columns", "audit")


@dataclasses.dataclass
class AuditFolder:
    """An audit of a table, kept in a folder."""

    request: AuditRequest
    folder: Path
    state: dict[str, Any]
    table: AuditTable
    audit: Audit

    @classmethod
    def open(cls, request: AuditRequest, *, begin: bool = True) -> Self:
        """Go on with the audit in the folder or, if there is none and ``begin``, begin one."""
        folder = request.place()
        state = _read_state(folder)
        if state is not None:
            table, audit = _resume(request, state, folder)
            check_columns(table.names, [("show", name) for name in request.show])
            return cls(request, folder, state, table, audit)
        if not begin:
            raise AuditError(
                f"there is no audit in {folder}", "Begin it without --tell, or name its folder with --out"
            )
        _check_place(request, folder)
        streamed = request.streams()
        table = request.opened(request.columns, request.form, streamed)
        check_columns(table.names, [("show", name) for name in request.show])
        known = {
            "name": shown_name(request.table),
            "rows": table.rows,
            "sha256": request.digest(streamed),
            "encoding": request.form.encoding or "utf-8",
            "form": {name: value for name, value in _said(request.form).items() if name != "encoding"},
            "streamed": streamed,
        }
        audit = table.begin(AuditPlan(**request.settings))
        columns = {n: v for n, v in request.columns.items() if v is not None or n == "positive"}
        # A class that was recognised is kept like one that was named: the certificate says which it is.
        columns["positive"] = columns["positive"] or (table.classes.positive or (None,))[0]
        state = {"format": _FORMAT, "pool": known, "columns": columns, "shown": list(request.show)}
        state["corrections"] = []
        begun = cls(request, folder, state, table, audit)
        folder.mkdir(exist_ok=True)
        begun._write()
        return begun

    def _write(self) -> None:
        self.state["audit"] = self.audit.to_dict()
        write_whole(self.folder / STATE, json.dumps(self.state, indent=1) + "\n")

    @property
    def _base(self) -> int:
        """The number of the first row in sheets."""
        return _BASE[self.state["format"]]

    def tell(self, file: Path, *, unchecked: bool = False, correct: bool = False) -> tuple[int, int]:
        """Tell what is new in a file of labels, all of it or none; return how many are new and changed.

        Rows are compared with the table by their check codes and cells, unless ``unchecked``. With
        ``correct``, labels that differ from those told before replace them, and the state keeps a record.
        """
        sheet = read_labels(file, self.table.classes, self.request.form.encoding, self._base)
        told = sheet.labels
        before = dict(zip(self.state["audit"]["rows"], self.state["audit"]["labels"], strict=True))
        before |= dict.fromkeys(self.state["audit"].get("skipped", ()), SKIPPED)
        awaited = set() if self.audit.done else set(self.audit.ask().indices.tolist())
        new: dict[int, int] = {}
        changed: dict[int, int] = {}
        for number, value in told.items():
            shown = number + self._base
            row = self.table.index_of(number)
            if row is not None and row in before:
                if before[row] != value and not correct:
                    raise AuditError(
                        f"{file.name}: row {shown} has another label than the one it was told with before",
                        "If that one was wrong, give --correct: the change is recorded and named in the "
                        "certificate",
                    )
                if before[row] != value:
                    changed[row] = value
            elif row is not None and row in awaited:
                new[row] = value
            else:
                raise AuditError(
                    f"{file.name}: row {shown} was never asked for",
                    "Label only the rows that were written: an audit of other rows would prove nothing",
                )
        if not told:
            raise AuditError(f"{file.name} has no labels yet", "Fill in its column 'label'")
        if not unchecked:
            rows = np.array(sorted(told), dtype=np.int64)
            cells = dict(zip(rows.tolist(), self.table.take(rows).to_pylist(), strict=True))
            check_returned(file.name, sheet.rows, cells)
        for row, value in changed.items():
            self.state["corrections"].append({
                "row": int(self.table.number_of(np.array([row]))[0]), "from": before[row], "to": value,
                "after_labels": self.audit.n_labels, "at": datetime.now(UTC).isoformat(timespec="seconds"),
            })  # fmt: skip
            self.audit.revise(row, None if value == SKIPPED else value)
            if value == SKIPPED:
                self.audit.skip(row)
        self.audit.skip([row for row, value in new.items() if value == SKIPPED])
        if labelled := {row: value for row, value in new.items() if value != SKIPPED}:
            self.audit.tell(list(labelled), list(labelled.values()))
        if new or changed:
            self._write()
        return len(new), len(changed)

    def advance(self) -> RowsAwaited | Decided:
        """Write the next rows to label, or the certificate if the audit is over."""
        return self._finish() if self.audit.done else self._ask()

    def _ask(self) -> RowsAwaited:
        query = self.audit.ask()
        sheet = self._sheet(query)
        found, names = self.audit.certificate(), self.table.classes.names
        words = " or ".join(reversed(names)) if len(names) <= 5 else "its class"
        then = ["fairask", "audit", self.request.table, "--tell", str(sheet)]
        return RowsAwaited(
            sheet=sheet,
            rows=len(query.indices),
            look=query.look,
            looks=len(self.audit.schedule.totals),
            labels=self.audit.n_labels,
            certificate=found if found.n_labels else None,
            answers=words,
            command=shlex.join(then + ([] if self.request.folder is None else ["--out", str(self.folder)])),
        )

    def _sheet(self, query: AuditQuery) -> Path:
        """Return the first sheet with rows that wait for a label; write one for rows that are in none."""
        awaited = self.table.number_of(query.indices)
        first, part = None, 1
        while (sheet := self.folder / sheet_name(query.look, part)).exists():
            # An existing sheet is never overwritten: somebody may be filling it in.
            named = np.isin(awaited, list(rows_in(sheet, self._base)))
            first = first or (sheet if named.any() else None)
            awaited, part = awaited[~named], part + 1
        if len(awaited):
            write_sheet(sheet, self.table, awaited, self._hidden(awaited), self._base)
        return first or sheet

    def _hidden(self, rows: Int) -> set[str]:
        """Return the columns that could sway whoever labels: prediction, score, protected attribute."""
        columns, shown = self.state["columns"], {*self.state.get("shown", ()), *self.request.show}
        telling = telling_columns(self.table.take(rows), columns["predictions"])
        groups = protected_columns(columns["protected"], self.table.names)
        return {columns["predictions"], *groups, *telling} - shown

    def _finish(self) -> Decided:
        first = self.audit.plan.target
        notes = tuple(f"Of the table, {note}." for note in self.table.notes)
        found = {}
        for target in sorted(TARGETS, key=lambda t: t != first):
            for number, made in enumerate(self.audit.certificates(target)):
                groups = tuple(str(group) for group in made.groups)
                pool = {"pool": self.state["pool"]["sha256"]}
                found[target if not number else f"{target}: {made.metric}"] = dataclasses.replace(
                    made,
                    assumptions=(*made.assumptions, *notes),
                    groups=groups,
                    digests={**made.digests, **pool},
                )
        decided = Decided(self.audit.n_labels, found, self._facts(), self.folder)
        decided.write()
        return decided

    def about(self) -> str:
        """Return the table in one line: rows, columns, sizes of the groups."""
        sizes = ", ".join(f"{g} {n:,}" for g, n in sorted(self.table.group_rows.items()))
        columns = self.state["columns"]
        return (
            f"{shown_name(self.request.table)}: {self.table.rows:,} rows, predictions "
            f"{columns['predictions']}, groups by {', '.join(as_specs(columns['protected']))} ({sizes})"
        )

    def _facts(self) -> dict[str, str]:
        """How the certificates were made, for a table at their end."""
        plan, columns, known = self.audit.plan, self.state["columns"], self.state["pool"]
        what = "files' names, sizes and footers" if known.get("streamed") else "table"
        several = json.dumps(columns["positive"], ensure_ascii=False)[1:-1]
        named = columns["positive"] if isinstance(columns["positive"], str) else several
        positive = f" (positive: {named})" if columns["positive"] else ""
        facts = {
            "table": f"{known['name']}, {known['rows']:,} rows",
            f"sha256 of the {what}": known["sha256"],
            "predictions": f"{columns['predictions']}{positive}",
            "groups": ", ".join(as_specs(columns["protected"])),
            "budget": f"{plan.budget:,} labels in at most {plan.looks} batches",
            "seed": str(plan.random_state),
            "version": f"fairask {version('fairask')}",
        }
        for name in ("score", "cost", "known", "noise"):
            if columns.get(name):
                facts[name] = str(columns[name])
        if n := len(self.state["corrections"]):
            facts["corrections"] = f"{n:,}, listed in {STATE}"
        if self.audit.schedule.claims:
            worst = self.audit.calibration(random_state=plan.random_state)
            facts["error replayed"] = (
                f"{worst:.1%} of 1,000 such audits certify at the worst pools with a violation of exactly "
                f"{plan.tolerance:g} that these labels do not rule out"
            )
        return facts


def _said(form: TableFormat) -> dict[str, str]:
    """What was said of how the file is written."""
    return {name: value for name, value in vars(form).items() if value is not None}


def _check_place(request: AuditRequest, folder: Path) -> None:
    """Raise AuditError where an audit cannot begin."""
    if request.columns["predictions"] is None or request.columns["protected"] is None:
        raise AuditError(
            "--predictions and --protected are needed to begin an audit",
            f"Name the two columns (there is no audit in {folder} to go on with)",
        )
    if folder.exists() and not folder.is_dir():
        raise AuditError(f"{folder} is a file", "Name a folder with --out")
    if not folder.parent.is_dir():
        raise AuditError(f"there is no folder {folder.parent}", f"Make it first: mkdir -p {folder.parent}")
    if folder.is_dir() and (old := sorted(folder.glob(sheet_name(0).replace("0", "*")))):
        raise AuditError(
            f"{folder} has {old[0].name} of an audit, but no {STATE}",
            "Restore that file, or name another folder with --out",
        )


def _read_state(folder: Path) -> dict[str, Any] | None:
    """Read the state of the audit in a folder; None if there is none."""
    file = folder / STATE
    if not file.exists():
        return None
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        if state["format"] not in _BASE:
            raise AuditError(
                f"{file} has format {state['format']!r}, and this version reads up to format {_FORMAT}",
                "Use the version of fairask that began the audit, or begin another with --out",
            )
        if not all(isinstance(state[part], dict) for part in _PARTS):
            raise TypeError
    except AuditError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise AuditError(
            f"{file} is damaged", "Restore it from a copy, or begin another audit with --out"
        ) from error
    # Versions before 0.2.0 wrote neither columns to show nor corrections.
    more = {"shown": state.get("shown", []), "corrections": state.get("corrections", [])}
    return {part: state[part] for part in ("format", *_PARTS)} | more


def _resume(request: AuditRequest, state: dict[str, Any], folder: Path) -> tuple[AuditTable, Audit]:
    """Open the table again and tell its audit what the state holds."""
    plan = AuditPlan.from_dict(state["audit"]["settings"])
    begun = {**state["columns"], **plan.to_dict()}
    for name, value in {**request.columns, **request.settings}.items():
        if value is not None and value != begun.get(name):
            was = "no" if begun.get(name) is None else begun[name]
            option = {"random_state": "seed"}.get(name, name.replace("_", "-"))
            raise AuditError(
                f"--{option} {value}: the audit in {folder} was begun with {was}",
                f"Leave out --{option} to go on with it, or begin another with --out",
            )
    known = state["pool"]
    streamed = bool(known.get("streamed", False))
    if request.stream not in (None, streamed):
        raise AuditError(
            f"the audit in {folder} was begun {'' if streamed else 'not '}streaming, which draws otherwise",
            "Leave out --stream and --no-stream to go on with it",
        )
    # Version 0.1.0 kept the encoding alone.
    form = dataclasses.replace(
        TableFormat(encoding=None if known["encoding"] == "utf-8" else known["encoding"]),
        **known.get("form", {}),
    )
    for name, value in _said(request.form).items():
        begun_with = vars(form)[name] or ("utf-8" if name == "encoding" else "none")
        if value != begun_with:
            raise AuditError(
                f"--{name} {value}: the audit in {folder} was begun with {begun_with}",
                f"Leave out --{name} to go on with it, or begin another with --out",
            )
    local = local_path(request.table)
    if local is not None and not local.exists():
        open_audit_table(request.table, predictions="", protected="")  # names files that are near
    if request.digest(streamed) != known["sha256"]:
        raise AuditError(
            f"{request.table} has changed since the audit in {folder} was begun, or is another file",
            "Restore it: labels belong to row numbers. Or begin another audit with --out",
        )
    table = request.opened(state["columns"], form, streamed)
    try:
        return table, table.begin(plan).resume(state["audit"])
    except (ValueError, KeyError, TypeError) as error:
        raise AuditError(
            f"{folder / STATE} is damaged: {error}",
            "Restore it from a copy, or begin another audit with --out",
        ) from error
