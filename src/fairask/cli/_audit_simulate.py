"""Audits of a pool whose labels are known, many times: what one would cost, and how often it decides."""

from __future__ import annotations

from typing import Any

from fairask.cli._audit_pool import open_audit_pool, shown_name
from fairask.cli._errors import WrongUse

__all__ = ["simulate"]


def simulate(
    path: str,
    label: str,
    columns: dict[str, str | None],
    settings: dict[str, Any],
    runs: int,
    encoding: str,
    screen: Any,
) -> None:
    """Simulate and show."""
    from rich.table import Table

    from fairask.certify import simulate_audit

    if columns["predictions"] is None or columns["protected"] is None:
        raise WrongUse("--predictions and --protected are needed", "See fairask audit --help")
    if settings["metric"] == "dp":
        raise WrongUse(
            "demographic parity needs no labels, so there is nothing to simulate",
            "Leave out --label: the certificate is written at once",
        )
    pool = open_audit_pool(
        path,
        predictions=columns["predictions"],
        protected=columns["protected"],
        positive=columns["positive"],
        label=label,
        encoding=encoding,
    )
    assert pool.labels is not None
    assert pool.scores is not None
    assert pool.groups is not None
    _check_cells(pool.labels, pool.groups, settings["metric"], columns["protected"])
    options = {name: settings[name] for name in ("metric", "alpha", "delta", "budget", "looks")}
    found = simulate_audit(
        pool.labels, pool.scores, pool.groups, n_audits=runs, random_state=settings["seed"], **options
    )
    screen.data({"rows": len(pool.labels), **options, **found.to_dict(), "notes": pool.notes})
    screen.say(
        f"{shown_name(path)}: {len(pool.labels):,} rows, groups by {columns['protected']}", style="bold"
    )
    for note in pool.notes:
        screen.say(f"note: {note}")
    screen.say(
        f"The pool's own violation ({settings['metric']}) is {found.violation:.4f}; "
        f"tolerance {found.alpha:g}, delta {found.delta:g}."
    )
    screen.say()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("labels", "decided by then"):
        table.add_column(name, justify="right")
    for labels, share in found.decided_by.items():
        table.add_row(f"{labels:,}", f"{share:.1%}")
    screen.say(table)
    screen.say()
    screen.say(
        f"Of {found.n_audits:,} simulated audits {found.certified:.1%} certify, {found.refuted:.1%} refute "
        f"and {found.undecided:.1%} stay undecided; {found.wrong:.1%} are wrong.",
        always=True,
        style="bold",
    )
    low, middle, high = found.labels_quantiles
    screen.say(
        f"They use {found.mean_labels:,.0f} labels on average; {low:,}, {middle:,} and {high:,} at the "
        "10th, 50th and 90th percentile."
    )


def _check_cells(labels: Any, groups: Any, metric: str, protected: str) -> None:
    """The pool's own violation must exist to be compared with."""
    from fairask.metrics import METRICS

    for value in METRICS[metric]:
        for group in sorted(set(groups.tolist())):
            if not (labels[groups == group] == value).any():
                kind = "positive" if value else "negative"
                raise WrongUse(
                    f"group {group!r} of {protected!r} has no {kind} label, so it has no rate to compare",
                    "Merge groups, add rows, or choose another --metric",
                )
