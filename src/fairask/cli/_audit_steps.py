"""One call of an audit: begin it, or take labels; then ask for the next rows or write the certificate."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from fairask.certify import Audit, Certificate
from fairask.certify.audit.plan import TARGETS
from fairask.cli import _audit_files as files
from fairask.cli._audit_pool import AuditPool, digest_of, open_audit_pool, shown_name
from fairask.cli._audit_stream import footers_digest, stream_audit_pool
from fairask.cli._errors import WrongUse
from fairask.pools.places import local_path, name_of
from fairask.pools.sources.parquet import open_parquet
from fairask.tables.read import PARQUET_SUFFIXES

__all__ = ["step"]


#: Rows above which a Parquet table is streamed.
MOST_HELD = 1_000_000


@dataclasses.dataclass(frozen=True)
class Streaming:
    """Whether the table is streamed, if that was said, and what is told of its passes."""

    wanted: bool | None = None
    progress: Any = None

    def applies(self, path: str) -> bool:
        """Whether to stream this table."""
        local = local_path(path)
        parquet = local is None or local.is_dir() or local.suffix.lower() in PARQUET_SUFFIXES
        if self.wanted and not parquet:
            raise WrongUse(f"{path} cannot be streamed", "Give Parquet, or leave out --stream")
        if self.wanted is not None or not parquet or local is None:
            return parquet if self.wanted is None else self.wanted
        try:
            return sum(open_parquet(local).sizes) > MOST_HELD
        except (ValueError, OSError):
            return False  # reading it says what is wrong


def step(
    path: str,
    labels: Path | None,
    columns: dict[str, str | None],
    given: dict[str, Any],
    encoding: str | None,
    out: Path | None,
    screen: Any,
    streaming: Streaming,
) -> None:
    """Do what can be done now with what was given."""
    folder = out or _beside(path)
    state = files.read_state(folder)
    if state is None:
        if labels is not None:
            raise WrongUse(
                f"there is no audit in {folder}", "Begin it without --labels, or name its folder with --out"
            )
        pool, audit, state = _begin(path, columns, given, encoding or "utf-8", folder, streaming)
    else:
        pool, audit = _resume(path, columns, given, state, folder, streaming)
    new = 0 if labels is None else _tell(audit, pool, labels, encoding or "utf-8")
    # The state goes first: rows and certificate follow from it, and are made again if they are missing.
    if new or "audit" not in state:
        state["audit"] = audit.to_dict()
        folder.mkdir(exist_ok=True)
        files.write_state(folder, state)
    screen.say(_about(path, pool, state), style="bold")
    for note in pool.notes:
        screen.say(f"note: {note}")
    if labels is not None:
        screen.say(f"{new:,} new labels; {audit.n_labels:,} in all.")
    if audit.done:
        _finish(audit, pool, state, folder, screen)
    else:
        _ask(audit, pool, state, folder, path, out, screen)


def _beside(path: str) -> Path:
    """The audit's folder: beside a local table, here for one elsewhere."""
    local = local_path(path)
    if local is None:
        return Path(f"{name_of(path)}.audit")
    # "." and ".." have no name of their own to put something beside.
    named = local.resolve() if local.name in ("", "..") else local
    return named.with_name(f"{named.stem if named.is_file() else named.name}.audit")


def _digest(path: str, streamed: bool) -> str:
    local = local_path(path)
    return footers_digest(path) if streamed or local is None else digest_of(local)


def _opened(
    path: str, columns: dict[str, Any], encoding: str, streamed: bool, streaming: Streaming
) -> AuditPool:
    named = {name: columns[name] for name in ("predictions", "protected", "positive")}
    if streamed:
        return stream_audit_pool(path, progress=streaming.progress, **named)
    return open_audit_pool(path, encoding=encoding, **named)


def _begin(
    path: str,
    columns: dict[str, str | None],
    given: dict[str, Any],
    encoding: str,
    folder: Path,
    streaming: Streaming,
) -> tuple[AuditPool, Audit, dict[str, Any]]:
    from fairask.cli.audit import _filled

    predictions, protected = columns["predictions"], columns["protected"]
    if predictions is None or protected is None:
        raise WrongUse(
            "--predictions and --protected are needed to begin an audit",
            f"Name the two columns (there is no audit in {folder} to go on with)",
        )
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"{folder} is a file", "Name a folder with --out")
    if not folder.parent.is_dir():
        raise WrongUse(f"there is no folder {folder.parent}", f"Make it first: mkdir -p {folder.parent}")
    if folder.is_dir() and (old := sorted(folder.glob("rows-*.csv"))):
        raise WrongUse(
            f"{folder} has {old[0].name} of an audit, but no {files.STATE}",
            "Restore that file, or name another folder with --out",
        )
    streamed = streaming.applies(path)
    pool = _opened(path, columns, encoding, streamed, streaming)
    settings = _filled(given)
    settings["random_state"] = settings.pop("seed")
    state = {
        "pool": {
            "name": shown_name(path),
            "rows": pool.rows,
            "sha256": _digest(path, streamed),
            "encoding": encoding,
            "streamed": streamed,
        },
        "columns": columns,
    }
    return pool, pool.begin(**settings), state


def _resume(
    path: str,
    columns: dict[str, str | None],
    given: dict[str, Any],
    state: dict[str, Any],
    folder: Path,
    streaming: Streaming,
) -> tuple[AuditPool, Audit]:
    begun = {**state["columns"], **state["audit"]["settings"]}
    begun["seed"] = begun.pop("random_state")
    for name, value in {**columns, **given}.items():
        if value is not None and value != begun[name]:
            was = "no" if begun[name] is None else begun[name]
            raise WrongUse(
                f"--{name} {value}: the audit in {folder} was begun with {was}",
                f"Leave out --{name} to go on with it, or begin another with --out",
            )
    known = state["pool"]
    streamed = bool(known.get("streamed", False))
    if streaming.wanted not in (None, streamed):
        raise WrongUse(
            f"the audit in {folder} was begun {'' if streamed else 'not '}streaming, which draws otherwise",
            "Leave out --stream and --no-stream to go on with it",
        )
    local = local_path(path)
    if local is not None and not local.exists():
        open_audit_pool(path, predictions="", protected="")  # says what is near
    if _digest(path, streamed) != known["sha256"]:
        raise WrongUse(
            f"{path} has changed since the audit in {folder} was begun, or is another file",
            "Restore it: labels belong to row numbers. Or begin another audit with --out",
        )
    pool = _opened(path, state["columns"], known["encoding"], streamed, streaming)
    try:
        return pool, pool.begin(**state["audit"]["settings"]).resume(state["audit"])
    except (ValueError, KeyError, TypeError) as error:
        raise WrongUse(
            f"{folder / files.STATE} is damaged: {error}",
            "Restore it from a copy, or begin another audit with --out",
        ) from error


def _tell(audit: Audit, pool: AuditPool, file: Path, encoding: str) -> int:
    """Tell what is new in a file of labels, all of it or none; return how many labels that is."""
    told = files.read_labels(file, pool.classes, encoding)
    current = audit.to_dict()
    before = dict(zip(current["rows"], current["labels"], strict=True))
    awaited = set() if audit.done else set(audit.ask().indices.tolist())
    new: dict[int, int] = {}
    for number, value in told.items():
        row = pool.index_of(number - 1)
        if row is not None and row in before:
            if before[row] != value:
                raise WrongUse(
                    f"{file.name}: row {number} has another label than the one it was told with before",
                    "To correct it, begin again with another --out and this seed: the same rows come first",
                )
        elif row is not None and row in awaited:
            new[row] = value
        else:
            raise WrongUse(
                f"{file.name}: row {number} was never asked for",
                "Label only the rows that were written: an audit of other rows would prove nothing",
            )
    if not told:
        raise WrongUse(f"{file.name} has no labels yet", "Fill in its column 'label'")
    if new:
        audit.tell(list(new), list(new.values()))
    return len(new)


def _about(path: str, pool: AuditPool, state: dict[str, Any]) -> str:
    sizes = ", ".join(f"{g} {n:,}" for g, n in sorted(pool.group_rows.items()))
    columns = state["columns"]
    return (
        f"{shown_name(path)}: {pool.rows:,} rows, predictions {columns['predictions']}, "
        f"groups by {columns['protected']} ({sizes})"
    )


def _ask(
    audit: Audit,
    pool: AuditPool,
    state: dict[str, Any],
    folder: Path,
    path: str,
    out: Path | None,
    screen: Any,
) -> None:
    query = audit.ask()
    file = folder / files.batch_name(query.look)
    if not file.exists():
        # Never over a file that somebody may be filling in.
        files.write_batch(file, pool, pool.number_of(query.indices), state["columns"]["predictions"])
    certificate = audit.certificate()
    if certificate.n_labels:
        screen.say(certificate.headline())
    then = ["fairask", "audit", path, "--labels", str(file)] + ([] if out is None else ["--out", str(out)])
    words = " or ".join(reversed(pool.classes)) if 0 < len(pool.classes) <= 5 else "its class"
    total = len(audit.schedule.totals)
    screen.say(
        f"Label {len(query.indices):,} rows of {file} (batch {query.look} of at most {total}): "
        f"in the column label, {words if pool.classes else '1 or 0'}.",
        always=True,
    )
    screen.say(f"Then: {shlex.join(then)}")
    screen.data(
        {
            "status": "labels awaited",
            "labels": audit.n_labels,
            "awaited": len(query.indices),
            "look": query.look,
            "looks": total,
            "rows_file": str(file),
            "certificate": certificate.to_dict() if certificate.n_labels else None,
            "notes": pool.notes,
        }
    )


def _finish(audit: Audit, pool: AuditPool, state: dict[str, Any], folder: Path, screen: Any) -> None:
    first = state["audit"]["settings"]["target"]
    found = {t: _noted(audit.certificate(t), pool) for t in sorted(TARGETS, key=lambda t: t != first)}
    main, other = found.values()
    facts = _facts(audit, state)
    text = "\n\n".join(str(c) for c in found.values())
    text += "\n\n" + "\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n"
    result = {
        "verdict": main.verdict,
        "target": first,
        "certificates": {t: c.to_dict() for t, c in found.items()},
        "made_from": facts,
    }
    written = {
        "txt": text,
        "json": json.dumps(result, indent=1, allow_nan=False) + "\n",
        "html": main.to_html(also=[other], facts=facts),
    }
    for suffix, content in written.items():
        files.write_whole(folder / f"certificate.{suffix}", content)
    screen.say()
    # Quiet or not, the verdict is one bold line; the rest of the text follows it.
    screen.say(main.headline(), always=True, style="bold")
    screen.say(str(main).partition("\n")[2])
    screen.say()
    screen.say(str(other))
    screen.say()
    screen.say(f"certificate: {folder / 'certificate.html'} (and .txt, .json)")
    screen.data({"status": "done", "labels": audit.n_labels, **result, "notes": pool.notes})


def _noted(certificate: Certificate, pool: AuditPool) -> Certificate:
    """The certificate with what was done to the table among its assumptions."""
    notes = tuple(f"Of the table, {note}." for note in pool.notes)
    groups = tuple(g.item() if isinstance(g, np.generic) else g for g in certificate.groups)
    return dataclasses.replace(certificate, assumptions=(*certificate.assumptions, *notes), groups=groups)


def _facts(audit: Audit, state: dict[str, Any]) -> dict[str, str]:
    from fairask import __version__

    settings, columns, pool = state["audit"]["settings"], state["columns"], state["pool"]
    what = "files' names, sizes and footers" if pool.get("streamed") else "table"
    facts = {
        "table": f"{pool['name']}, {pool['rows']:,} rows",
        f"sha256 of the {what}": pool["sha256"],
        "predictions": columns["predictions"]
        + (f" (positive: {columns['positive']})" if columns["positive"] else ""),
        "groups": columns["protected"],
        "budget": f"{settings['budget']:,} labels in at most {settings['looks']} batches",
        "seed": str(settings["random_state"]),
        "version": f"fairask {__version__}",
    }
    if audit.plan.metric != "dp":
        worst = audit.calibration(random_state=settings["random_state"])
        facts["error replayed"] = (
            f"{worst:.1%} of 1,000 such audits certify at the worst pools with a difference of exactly "
            f"{settings['alpha']:g} that these labels do not rule out"
        )
    return facts
