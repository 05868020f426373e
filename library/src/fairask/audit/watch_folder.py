"""A watch beside its audit on disk: what ``fairask watch`` writes and reads between its steps.

``watch.json`` in the audit's folder is the state, sealed as the audit's is; ``watch.html`` shows it. Columns,
classes, metric, tolerance, delta, compared groups and noise are the audit's. A sheet of rows is written for
each month (``watch-2026-03.csv``).
"""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Self

import numpy as np

from fairask.audit.certificate import CERTIFICATE, STATE, is_sealed, seal
from fairask.audit.folder import AuditError, read_labels, read_state, telling_columns, write_sheet
from fairask.audit.predictions import Classes, open_audit_table
from fairask.audit.watch import Month, Watch, check_month
from fairask.errors import UserError
from fairask.pools.source import open_table, table_digest
from fairask.tables import TableFormat
from fairask.tables.groups import OneGroupError, as_specs, protected_columns
from fairask.tables.labels import columns_hint
from fairask.tables.sheets import check_returned, write_next, write_whole

WATCH, PAGE = "watch.json", "watch.html"
_RESTORE = "Restore it from a copy"
#: Columns of the audit that a month's table must have too, as it reads them.
_COLUMNS = ("predictions", "protected", "positive", "missing_groups")


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
    score : str or None
        The column of scores; that of the audit, or that which the first month names.
    before : bytes or None
        ``watch.json`` as it was last read or written.
    """

    folder: Path
    audit: dict[str, Any]
    watch: Watch
    tables: dict[str, str]
    score: str | None
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
            The month of the certificate; default that in which it was issued.
        """
        audit = read_state(folder)
        if audit is None:
            raise AuditError(
                f"there is no audit in {folder}", f"Name the folder of an audit, which has {STATE}"
            )
        file = folder / WATCH
        if file.exists():
            try:
                before = file.read_bytes()
                state = json.loads(before.decode())
                if not is_sealed(state):
                    raise ValueError("its content is not what was written")
                watch, tables = Watch.from_dict(state["watch"]), state["tables"]
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise AuditError(f"{file} is damaged: {error}", _RESTORE) from error
            for name, value in {**settings, "certified": certified}.items():
                was = getattr(watch, name)
                if value not in (None, was) and name != "labels":
                    option = f"--{name.replace('_', '-')}"
                    raise AuditError(
                        f"{option} {value}: the watch in {folder} has {was}",
                        f"Leave out {option} to go on with it",
                    )
            return cls(folder, audit, watch, tables, state["score"], before)
        plan, strata = audit["audit"]["settings"], audit["audit"]["strata"]
        if certified is not None:
            check_begun(certified, "certified")
        issued = folder / CERTIFICATE
        if certified is None and issued.exists():
            certified = _month(issued)
        if certified is None:
            raise AuditError(
                f"the audit in {folder} has not certified its model, so there is no certificate to watch",
                "Finish the audit, or name the month of an earlier certificate: --certified 2026-03",
            )
        watch = Watch(
            strata["groups"], certified=certified,
            **{name: plan[name] for name in ("metric", "tolerance", "delta", "compare")},
            **{name: value for name, value in settings.items() if value is not None},
        )  # fmt: skip
        watch.noise, watch.doubt = np.array(strata["noise"]), np.array(strata["doubt"])
        return cls(folder, audit, watch, {}, audit["columns"].get("score"))

    @property
    def classes(self) -> Classes:
        """Names of the classes."""
        return Classes(**{name: tuple(found) for name, found in self.audit["pool"]["classes"].items()})

    @property
    def _columns(self) -> dict[str, Any]:
        """The audit's columns that a month's table must have too."""
        given = self.audit["columns"]
        return {name: given[name] for name in _COLUMNS if given.get(name)}

    def add(
        self,
        place: str,
        month: str,
        *,
        form: TableFormat,
        score: str | None = None,
        known: str | None = None,
        labels: int | None = None,
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
            A column of numbers that may tell the labels, if not the audit's; of the first month only.
        known : str, optional
            A column with the outcomes that exist, empty elsewhere.
        labels : int, optional
            Labels from this month on.
        """
        if score is not None and self.watch.months and score != self.score:
            raise UserError(
                f"--score {score}: the watch in {self.folder} has {self.score or 'no score'}",
                "Leave out --score to go on with it",
            )
        self.score = score or self.score
        try:
            check_begun(month)
        except ValueError as error:
            raise UserError(f"--{error}", "Name the month of these rows: --month 2026-03") from error
        self._check_columns(place, form)
        try:
            table = open_audit_table(
                place, form=form, seed=self.watch.random_state, score=self.score, known=known, any_size=True,
                **self._columns,
            )  # fmt: skip
        except OneGroupError as error:
            raise UserError(
                f"{place}: {error.what}", "Add these rows together with those of the next month, in one table"
            ) from error
        if table.pool.cell is None:
            raise UserError(f"{place} is a database", "Export the rows of the month to a file")
        self.watch.add_rows(month, table.pool, labels=labels, source=table_digest(place, table.source))
        self.tables[month] = place
        awaited = np.array(self.watch.months[-1].awaited, dtype=np.int64)
        sheet = self.folder / f"watch-{month}.csv"
        if len(awaited):
            taken = table.source.take(awaited)
            predictions = self.audit["columns"]["predictions"]
            groups = protected_columns(self.audit["columns"]["protected"], table.source.schema.names)
            hidden = {predictions, *groups, *telling_columns(taken, predictions), *filter(None, [known])}
            write_sheet(sheet, table.source, awaited, hidden)
        self._write()
        table.source.close()
        return sheet if len(awaited) else None

    def _check_columns(self, place: str, form: TableFormat) -> None:
        """Raise UserError unless a month's table has the columns that the audit names; a watch names none."""
        given = self.audit["columns"]
        source, _ = open_table(place, form)
        with closing(source):
            names = source.schema.names
        for spec in (given["predictions"], *as_specs(given["protected"])):
            name = spec.rpartition(":")[0] or spec  # age:30,50 is the column age
            if spec not in names and name not in names:
                raise UserError(
                    f"{place} has no column {name!r}, which the audit in {self.folder} reads",
                    columns_hint(name, names),
                )

    def tell(self, file: Path, *, form: TableFormat) -> int:
        """Tell the labels of a sheet, all of them or none; return how many."""
        last = self.watch.months[-1].name if self.watch.months else ""
        told = tell_sheet(self.watch, file, self.classes, self.tables.get(last, ""), form)
        self._write()
        return told

    def publish(self, page: str) -> Path:
        """Write the page; its last line is a digest of the page and of ``watch.json``."""
        file = self.folder / PAGE
        write_whole(file, _with_digest(page, self.before))
        return file

    def _write(self) -> None:
        state = seal({"watch": self.watch.to_dict(), "tables": self.tables, "score": self.score})
        text = json.dumps(state, indent=1) + "\n"
        self.before = write_next(self.folder / WATCH, text.encode(), self.before)


def check_begun(month: str, name: str = "month") -> None:
    """Raise ValueError unless this is a month that has begun: one added by mistake would end the watch."""
    today = f"{date.today():%Y-%m}"
    if check_month(month, name) > today:
        raise ValueError(f"{name}={month!r} has not begun: this is {today}")


def tell_sheet(watch: Watch, file: Path, classes: Classes, place: str, form: TableFormat) -> int:
    """Tell a watch the labels of a sheet of its last month's table, all or none; return how many."""
    month: Month | None = watch.months[-1] if watch.months else None
    if month is None:
        raise UserError(f"no month waits for labels, so {file} has none to tell", "Add a month's table first")
    sheet = read_labels(file, classes, form.encoding)
    if not sheet.labels:
        raise AuditError(f"{file.name} has no labels yet", "Fill in its column 'label'")
    rows = np.array(sorted(sheet.labels), dtype=np.int64)
    if strange := sorted(set(rows.tolist()) - set(month.asked)):
        raise AuditError(
            f"{file.name}: row {strange[0]} was not drawn in {month.name}",
            "Label the sheet that was written",
        )
    source, _ = open_table(place, form)
    if table_digest(place, source) != month.source:
        raise AuditError(
            f"{place} has changed since its rows were drawn", "Restore it: labels belong to row numbers"
        )
    cells = dict(zip(rows.tolist(), source.take(rows).to_pylist(), strict=True))
    check_returned(file.name, sheet.rows, cells)
    source.close()
    watch.tell(rows, [None if sheet.labels[r] < 0 else sheet.labels[r] for r in rows.tolist()])
    return len(rows)


def check_watch(folder: Path) -> list[str]:
    """Return what was changed in the watch beside a certificate; nothing if there is none."""
    file, page = folder / WATCH, folder / PAGE
    try:
        state = WatchFolder.open(folder, {}).before if file.exists() else None
    except AuditError as error:
        return [str(error)]
    written = page.read_bytes() if page.exists() else b""
    text, mark, _ = written.decode("utf-8", "replace").rpartition(_MARK)
    if written and (not mark or _with_digest(text, state).encode() != written):
        return [f"{PAGE} does not say what {WATCH} says; fairask watch {folder} writes it again"]
    return []


_MARK = "<!-- sha256 "


def _with_digest(page: str, state: bytes | None) -> str:
    digest = hashlib.sha256(page.encode() + (state or b"")).hexdigest()
    return f"{page}{_MARK}{digest} -->\n"


def _month(file: Path) -> str | None:
    """The month in which a certificate was issued; None where it does not certify."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return found["made_from"].get("issued", "")[:7] or None if found["verdict"] == "certified" else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise AuditError(f"{file} is damaged", _RESTORE) from error
