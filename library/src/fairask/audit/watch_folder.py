"""A watch beside its audit on disk: what ``fairask watch`` writes and reads between its steps.

``watch.json`` in the audit's folder is the state. Columns, classes, metric, tolerance and delta are the
audit's. A sheet of rows (``watch-2026-03.csv``) is written for each month.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

from fairask.audit.certificate import CERTIFICATE, STATE
from fairask.audit.folder import AuditError, read_labels, telling_columns, write_sheet
from fairask.audit.predictions import Classes, open_audit_table
from fairask.audit.strata import UNTOLD
from fairask.audit.watch import Month, Watch, check_month
from fairask.errors import UserError
from fairask.metrics import METRICS
from fairask.pools.source import table_digest
from fairask.tables import TableFormat
from fairask.tables.groups import protected_columns
from fairask.tables.sheets import check_returned, write_next

WATCH = "watch.json"
#: Columns of the audit that a month's table must have too, as it reads them.
_COLUMNS = ("predictions", "protected", "positive")


@dataclass
class WatchFolder:
    """A watch in the folder of the audit that certified the model.

    Attributes
    ----------
    folder : Path
    audit : dict
        The state of the audit.
    watch : Watch
    tables : dict
        Where each month's table is, by month.
    before : bytes or None
        ``watch.json`` as it was last read or written.
    """

    folder: Path
    audit: dict[str, Any]
    watch: Watch
    tables: dict[str, str]
    before: bytes | None = None

    @classmethod
    def open(cls, folder: Path, settings: dict[str, Any], certified: str | None = None) -> Self:
        """Go on with the watch of an audit, or begin one.

        Parameters
        ----------
        folder : Path
            Of the audit.
        settings : dict
            ``labels``, ``valid_for`` and ``horizon``, as :class:`Watch` takes them, where given.
        certified : str, optional
            The month of the certificate; default that in which its file was written.
        """
        audit = _read(folder / STATE, "an audit", f"Name the folder of an audit, which has {STATE}")
        if (folder / WATCH).exists():
            before = (folder / WATCH).read_bytes()
            state = _read(folder / WATCH, "a watch", "Restore it from a copy")
            try:
                watch = Watch.from_dict(state["watch"])
            except (ValueError, KeyError, TypeError) as error:
                raise AuditError(f"{folder / WATCH} is damaged: {error}", "Restore it from a copy") from error
            for name, value in {**settings, "certified": certified}.items():
                if value is not None and value != state["watch"]["settings"][name]:
                    was = state["watch"]["settings"][name]
                    raise AuditError(
                        f"--{name.replace('_', '-')} {value}: the watch in {folder} has {was}",
                        f"Leave out --{name.replace('_', '-')} to go on with it",
                    )
            return cls(folder, audit, watch, state["tables"], before)
        plan, groups = audit["audit"]["settings"], audit["pool"]["groups"]
        if plan["metric"] not in METRICS:
            raise AuditError(
                f"the audit in {folder} is of {plan['metric']}, and a watch follows {', '.join(METRICS)}",
                "Audit the model with one of these metrics",
            )
        issued = folder / CERTIFICATE
        if certified is None and issued.exists() and _verdict(issued) == "certified":
            certified = datetime.fromtimestamp(issued.stat().st_mtime, UTC).strftime("%Y-%m")
        watch = Watch(
            sorted(groups), metric=plan["metric"], tolerance=plan["tolerance"], delta=plan["delta"],
            certified=certified, **{name: value for name, value in settings.items() if value is not None},
        )  # fmt: skip
        return cls(folder, audit, watch, {})

    @property
    def classes(self) -> Classes:
        """Names of the classes."""
        return Classes(**{name: tuple(found) for name, found in self.audit["pool"]["classes"].items()})

    def add(
        self, place: str, month: str, *, form: TableFormat, score: str | None = None, known: str | None = None
    ) -> Path | None:
        """Add the rows of a month; return the sheet of rows to label, None if no label is awaited.

        Parameters
        ----------
        place : str
            Path or URL of the month's table, with the audit's columns.
        month : str
            ``YYYY-MM``.
        form : TableFormat
        score : str, optional
            A column of numbers, of which shifts are reported.
        known : str, optional
            A column with the outcomes of all rows, or of all rows that are drawn.
        """
        try:
            check_month(month)
        except ValueError as error:
            raise UserError(f"--{error}", "Name the month of these rows: --month 2026-03") from error
        columns = {name: self.audit["columns"][name] for name in _COLUMNS if self.audit["columns"].get(name)}
        table = open_audit_table(
            place, form=form, seed=self.watch.random_state, score=score, known=known, **columns
        )
        if table.pool.cell is None:
            raise UserError(f"{place} is a database", "Export the rows of the month to a file")
        cell = table.pool.cell
        rows = self.watch.add(
            month, table.pool.decision[0][cell], table.groups.astype(str), table.pool.score,
            source=table_digest(place, table.source),
        )  # fmt: skip
        self.tables[month] = place
        outcome = table.pool.label[cell]
        if known is not None:
            there = rows[outcome[rows] != UNTOLD]
            self.watch.tell(there, outcome[there])
        awaited = np.array(self.watch.months[-1].awaited, dtype=np.int64)
        sheet = self.folder / f"watch-{month}.csv"
        if len(awaited):
            taken = table.source.take(awaited)
            predictions = self.audit["columns"]["predictions"]
            groups = protected_columns(self.audit["columns"]["protected"], table.source.schema.names)
            hidden = {predictions, *groups, *telling_columns(taken, predictions)}
            write_sheet(sheet, table.source, awaited, hidden)
        self._write()
        table.source.close()
        return sheet if len(awaited) else None

    def tell(self, file: Path, *, form: TableFormat) -> int:
        """Tell the labels of a sheet, all of them or none; return how many."""
        month: Month | None = self.watch.months[-1] if self.watch.months else None
        if month is None:
            raise UserError(
                f"no month waits for labels, so {file} has none to tell", "Add a month's table first"
            )
        sheet = read_labels(file, self.classes, form.encoding)
        if not sheet.labels:
            raise AuditError(f"{file.name} has no labels yet", "Fill in its column 'label'")
        rows = np.array(sorted(sheet.labels), dtype=np.int64)
        if strange := sorted(set(rows.tolist()) - set(month.asked)):
            raise AuditError(
                f"{file.name}: row {strange[0]} was not drawn in {month.name}",
                "Label the sheet that was written",
            )
        columns = {name: self.audit["columns"][name] for name in _COLUMNS if self.audit["columns"].get(name)}
        place = self.tables[month.name]
        table = open_audit_table(place, form=form, seed=self.watch.random_state, **columns)
        if table_digest(place, table.source) != month.source:
            raise AuditError(
                f"{place} has changed since its rows were drawn", "Restore it: labels belong to row numbers"
            )
        cells = dict(zip(rows.tolist(), table.source.take(rows).to_pylist(), strict=True))
        check_returned(file.name, sheet.rows, cells)
        table.source.close()
        self.watch.tell(rows, [None if sheet.labels[r] < 0 else sheet.labels[r] for r in rows.tolist()])
        self._write()
        return len(rows)

    def _write(self) -> None:
        state = {"watch": self.watch.to_dict(), "tables": self.tables}
        text = json.dumps(state, indent=1) + "\n"
        self.before = write_next(self.folder / WATCH, text.encode(), self.before)


def _read(file: Path, what: str, remedy: str) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise AuditError(f"there is no {file}", remedy) from error
    except (ValueError, RecursionError) as error:
        raise AuditError(f"{file} is damaged", "Restore it from a copy") from error
    if not isinstance(found, dict):
        raise AuditError(f"{file} is not {what}", remedy)
    return found


def _verdict(file: Path) -> object:
    return _read(file, "a certificate", "Restore it from a copy").get("verdict")
