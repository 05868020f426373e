"""What is asked of an audit's folder, and how its table is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairask.audit.plan import AuditPlan
from fairask.audit.planner import BUDGETS, BudgetTable, plan_audit
from fairask.audit.questions import QUESTIONS
from fairask.audit.streamed import footers_digest, open_streamed_table
from fairask.audit.table import AuditTable, open_audit_table
from fairask.checks import check_count
from fairask.errors import UserError
from fairask.pools.places import local_path, name_of
from fairask.pools.runners import ProgressCallback
from fairask.pools.sources.place import open_place
from fairask.tables import TableFormat
from fairask.tables.formats import MOST_ROWS, PARQUET_SUFFIXES, file_digest

_FIRST = ("predictions", "protected", "positive")


class AuditError(UserError):
    """An audit cannot be begun or continued as asked."""


def with_least_ratio(settings: dict[str, Any], at_least: float | None) -> dict[str, Any]:
    """Return the settings with the least ratio allowed, if one is given, as a tolerance: 1 minus it.

    Examples
    --------
    >>> with_least_ratio({"metric": "tpr-ratio"}, 0.8)["tolerance"]
    0.2
    """
    if at_least is None:
        return settings
    if not str(settings.get("metric", "")).endswith("-ratio") or "tolerance" in settings:
        raise UserError(
            "--at-least is for a ratio, and instead of --tolerance",
            "Give --metric tpr-ratio, fpr-ratio or selection-ratio with it",
        )
    if not 0 < at_least < 1:
        raise UserError(f"--at-least {at_least:g} is no ratio between 0 and 1", "Give one, such as 0.8")
    return {**settings, "tolerance": round(1 - at_least, 12)}


@dataclass(frozen=True)
class AuditRequest:
    """What is asked of a folder; what is not given comes from its state, or from defaults at the beginning.

    Attributes
    ----------
    table : str
        Path or URL of the table.
    columns : dict
        ``predictions``, ``protected`` and ``positive``; ``score``, ``cost``, ``known``, ``noise`` and
        ``unknown_groups``, see :func:`open_audit_table`. None where not given.
    settings : dict
        Fields of :class:`AuditPlan` that were given.
    folder : Path, optional
        Default ``NAME.audit`` beside the table.
    form : TableFormat
        How the file is written; what is not said is recognised.
    stream : bool, optional
        Whether to count predictions where they are; default so for a URL, or above a million rows.
    progress : callable, optional
        Called during passes over a streamed table.
    show : tuple of str
        Columns of the table that are in sheets although they could sway whoever labels.
    device : str, optional
        Device of PyTorch on which a streamed table is counted.
    """

    table: str
    columns: dict[str, Any]
    settings: dict[str, Any]
    folder: Path | None = None
    form: TableFormat = field(default_factory=TableFormat)
    stream: bool | None = None
    progress: ProgressCallback | None = None
    show: tuple[str, ...] = ()
    device: str | None = None

    def place(self) -> Path:
        """Return the folder of the audit: beside a local table, here for one elsewhere."""
        local = local_path(self.table)
        if self.folder is not None:
            return self.folder
        if local is None:
            return Path(f"{name_of(self.table)}.audit")
        # "." and ".." have no name of their own.
        named = local.resolve() if local.name in ("", "..") else local
        return named.with_name(f"{named.stem if named.is_file() else named.name}.audit")

    def streams(self) -> bool:
        """Whether to stream the table."""
        local = local_path(self.table)
        parquet = local is None or local.is_dir() or local.suffix.lower() in PARQUET_SUFFIXES
        if self.stream and not parquet:
            raise AuditError(f"{self.table} cannot be streamed", "Give Parquet, or leave out --stream")
        if self.stream is not None or not parquet or local is None:
            return parquet if self.stream is None else self.stream
        try:
            return sum(open_place(local).sizes) > MOST_ROWS
        except (ValueError, OSError):
            return False  # reading the table says what is wrong

    def digest(self, streamed: bool) -> str:
        """Return the sha256 of the table; of a streamed one, of its files' names, sizes and footers."""
        local = local_path(self.table)
        return footers_digest(self.table) if streamed or local is None else file_digest(local, hidden=False)

    def opened(self, columns: Mapping[str, Any], form: TableFormat, streamed: bool) -> AuditTable:
        """Open the table."""
        named = {name: columns[name] for name in _FIRST}
        more = {name: value for name, value in columns.items() if name not in _FIRST and value is not None}
        if streamed and more:
            raise AuditError(
                f"--{next(iter(more)).replace('_', '-')} needs the table in memory, and this one is streamed",
                "Give --no-stream, or leave it out",
            )
        if self.device is not None and not streamed:
            raise AuditError(
                "--device counts a table that is streamed, and this one is read into memory",
                "Give Parquet with --stream, or leave out --device",
            )
        if streamed:
            return open_streamed_table(self.table, progress=self.progress, device=self.device, **named)
        return open_audit_table(self.table, form=form, more=more, **named)

    def checked_plan(self, runs: int) -> AuditPlan:
        """Return the plan that is asked for; raise UserError, by the option's name, for one that is not."""
        try:
            check_count(runs, "runs")
            return AuditPlan(**self.settings)
        except ValueError as error:
            what, _, remedy = str(error).partition("; ")
            raise UserError(
                f"--{what.replace('random_state=', 'seed=')}", remedy or "See fairask audit --help"
            ) from error

    def check_columns(self) -> None:
        """Raise AuditError unless predictions and groups are named."""
        if self.columns["predictions"] is None or self.columns["protected"] is None:
            raise AuditError("--predictions and --protected are needed", "See fairask audit --help")

    def opened_with_labels(self, label: str, metric: str) -> AuditTable:
        """Open the table with a column of known labels, to simulate audits."""
        self.check_columns()
        if not QUESTIONS[metric].labels:
            raise AuditError(
                "demographic parity needs no labels, so there is nothing to simulate",
                "Leave out --truth: the certificate is written at once",
            )
        named = {name: self.columns[name] for name in _FIRST if self.columns[name] is not None}
        more = {name: value for name, value in self.columns.items() if name not in _FIRST}
        return open_audit_table(self.table, label=label, form=self.form, more=more, **named)

    def plan(self, plan: AuditPlan, runs: int) -> tuple[BudgetTable, list[str]]:
        """Say what budgets would buy, from the predictions alone; and notes on the table."""
        self.check_columns()
        for name in ("cost", "known", "noise"):
            if self.columns.get(name) is not None:
                raise AuditError(f"--plan does not allow for --{name}", f"Leave out --{name} or --plan")
        table = self.opened(self.columns, self.form, False)
        assert table.scores is not None
        assert table.groups is not None
        budgets = sorted({*BUDGETS, plan.budget})
        score = table.extras.get("score")
        found = plan_audit(table.scores, table.groups, plan, score=score, budgets=budgets, n_audits=runs)
        return found, table.notes
