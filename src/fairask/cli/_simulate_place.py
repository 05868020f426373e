"""Where the table of a simulation is: read into memory, or streamed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairask.cli._errors import WrongUse
from fairask.cli._passes import passes
from fairask.cli._play import Output, show, versions
from fairask.cli._stream_simulate import StreamedTable, check_methods, open_labelled, run_streamed
from fairask.metrics import Metric
from fairask.pools.places import local_path
from fairask.pools.sources.parquet import open_parquet
from fairask.report import Comparison, Method
from fairask.stopping import StoppingRule
from fairask.tables import Prepared, TableProblem, prepare, read_labelled
from fairask.tables.read import PARQUET_SUFFIXES

__all__ = ["MOST_HELD", "Place", "play_streamed", "read_or_stream"]

#: Rows above which a table is streamed.
MOST_HELD = 1_000_000


@dataclass(frozen=True)
class Place:
    """A table in memory, or streamed."""

    data: Prepared | None = None
    streamed: StreamedTable | None = None

    @property
    def rows(self) -> int:
        """Rows of the table."""
        if self.streamed is not None:
            return self.streamed.pool.n_rows
        assert self.data is not None
        return len(self.data.y)

    @property
    def positive(self) -> str:
        """The label that counts as 1."""
        found = self.data or self.streamed
        assert found is not None
        return found.positive


def read_or_stream(
    path: str,
    stream: bool | None,
    methods: Sequence[Method],
    *,
    encoding: str,
    quiet: bool,
    **options: Any,
) -> Place:
    """Open a labelled table in the way its size or ``stream`` calls for."""
    local = local_path(path)
    parquet = local is None or local.is_dir() or local.suffix.lower() in PARQUET_SUFFIXES
    if stream and not parquet:
        raise WrongUse(f"{path} cannot be streamed", "Give Parquet, or leave out --stream")
    if local is not None and (not parquet or not local.exists()):
        return Place(read_labelled(local, encoding=encoding, **options))
    try:
        files = open_parquet(path)
    except FileNotFoundError as error:
        raise TableProblem(f"there is no file or folder {path}", "Check the path") from error
    except (ValueError, ImportError) as error:
        if local is not None and local.is_file():
            read_labelled(local, encoding=encoding, **options)  # says in its own words what is wrong
        raise TableProblem(str(error), "Give a Parquet file or a folder of them") from error
    if stream or (stream is None and sum(files.sizes) > MOST_HELD):
        check_methods(methods)
        with passes(quiet=quiet) as progress:
            return Place(streamed=open_labelled(path, progress=progress, **options))
    if local is not None and local.is_file():
        return Place(read_labelled(local, encoding=encoding, **options))
    import pyarrow as pa

    names = list(files.schema.names)
    parts = [pa.Table.from_batches([batch]) for block in files.blocks for batch in block.batches(names)]
    ready = prepare(pa.concat_tables(parts, promote_options="permissive"), **options)
    digest = hashlib.sha256(repr(files.records()).encode()).hexdigest()
    return Place(Prepared(**{**ready.__dict__, "digest": digest}))


def play_streamed(
    table: StreamedTable,
    methods: Sequence[Method],
    *,
    trials: int,
    output: Output,
    title: str,
    target: str,
    protected: str,
    command: str,
    metric: Metric,
    tolerance: float,
    budget: int,
    batch: int,
    seed: int,
    audit: int,
    baseline_budget: int,
    blind: bool,
    stop: StoppingRule | None,
) -> Comparison:
    """Run a comparison on a streamed table, show it, and write its report."""
    from fairask.cli._screen import console

    screen = console(no_color=output.no_color)
    talk = not output.quiet and not output.json
    if talk:
        screen.print(f"{title}: {target}, groups by {protected}", style="bold", markup=False)
        for note in table.notes:
            screen.print(f"note: {note}", markup=False)
    reach = {m.key: max(budget, baseline_budget) if m.key == "passive" else budget for m in methods}
    with passes(quiet=not talk) as progress:
        table.pool.progress = progress
        runs = list(
            run_streamed(
                table,
                methods,
                trials=trials,
                seed=seed,
                metric=metric,
                tolerance=tolerance,
                budget=budget,
                batch=batch,
                reach=reach,
                audited=methods[0].key,
                audit=audit,
                blind=blind,
                stop=stop,
            )
        )
    rows = table.pool.n_rows
    comparison = Comparison(
        title=title,
        target=target,
        protected=protected,
        methods=list(methods),
        runs=runs,
        budget=budget,
        batch=batch,
        trials=trials,
        seed=seed,
        metric=metric,
        tolerance=tolerance,
        pool_shares=table.shares,
        settings={
            "table": f"{rows:,} rows, {len(table.pool.feature_names):,} features, "
            f"{100 * table.base_rate:.1f} % positive, streamed",
            "split": f"{table.test_rows:,} rows for testing, drawn anew in every run; the rest to ask for",
            "fairness": f"{metric} ≤ {tolerance:g}, fitted at that less 1/√labels (margin sqrt_n)",
            "labels": f"{budget:,} in batches of {batch:,}; passive up to {baseline_budget:,}",
            "audit": f"at most {audit:,} labels besides, first run of {methods[0].key}" if audit else "none",
            "runs and seed": f"{trials:,} runs, seed {seed}",
            "versions": versions(),
            "sha256 of the row groups": table.digest,
        },
        command=command,
        notes=list(table.notes),
    )
    show(comparison, output, screen, savings=True)
    return comparison
