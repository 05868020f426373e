"""The report on a study: what was found, and how to check it, for people who did not take part."""

from __future__ import annotations

import platform
import shlex
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import make_url

from fairask.log import LABELLED
from fairask.oracle import CalibratedFairOracle
from fairask.tables.protected import as_specs
from fairask_studio._errors import StudyError
from fairask_studio.config import Config
from fairask_studio.events import Document
from fairask_studio.store import is_url

if TYPE_CHECKING:
    from fairask.plotting import DrawnRowsDisplay
    from fairask_studio.study import Study

#: Rows of the pool in the figure.
_MOST_POINTS = 2500
_NAMES = {"pool_sha256": "sha256 of the pool", "random_state": "seed", "rows": "rows of the pool"}
#: Settings that ``fairask new`` has an option for, with its name.
_OPTIONS = {
    "question": "question", "metric": "metric", "tolerance": "tolerance", "budget": "budget",
    "batch_size": "batch", "strategy": "strategy", "profile": "profile", "stopping": "stop",
    "overlap": "overlap", "lease_seconds": "lease", "random_state": "seed",
}  # fmt: skip


def report_html(study: Study) -> str:
    """Return the report on a study as one HTML page."""
    try:
        from fairask.report import StudyReport, render_study
    except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
        raise StudyError(f"the report needs {error.name}; pip install 'fairask-studio'") from error

    status = study.status()
    return render_study(
        StudyReport(
            title=_title(study.target),
            question=study.config.question,
            protected=_word(study.config, study.config.grouped_by),
            status=status,
            moments=_moments(study),
            drawn=_drawn(study),
            settings=_settings(study.config, status),
            commands=_commands(study, status),
        )
    )


def _title(target: str) -> str:
    if is_url(target):  # not the whole URL: it may hold a password
        return make_url(target).database or "study"
    return Path(target).resolve().name


def _word(config: Config, name: str) -> str:
    return next((c.title for c in config.columns if c.name == name and c.title), name)


def _moments(study: Study) -> list[float]:
    """Return when each labelled row had its first answer."""
    with study.lock:
        state = study.state()
        rows = [entry.index for entry in state.log.entries if entry.state == LABELLED]
        given = [min(a.at for a in state.answers[row].values()) for row in rows if state.answers.get(row)]
    return [datetime.fromisoformat(at).timestamp() for at in given]


def _drawn(study: Study) -> DrawnRowsDisplay | None:
    from fairask.plotting import DrawnRowsDisplay

    learner = study.learner()
    by: dict[str, list[int]] = {}
    for entry in learner.state.log.entries:
        by.setdefault(entry.component, []).append(entry.index)
    if not by:
        return None
    take = learner.pool.take
    # The report does not read a pool that is not copied: the log has a sample of it.
    sample = None if study.rows.sample is None else np.asarray(study.rows.sample[0])
    rows = learner.pool.n_rows if sample is None else len(sample)
    some = np.unique(np.linspace(0, rows - 1, min(_MOST_POINTS, rows)).astype(np.int64))
    return DrawnRowsDisplay.from_rows(
        take(some) if sample is None else sample[some],
        {name: take(np.sort(found)) for name, found in by.items()},
    )


def _settings(config: Config, status: Document) -> dict[str, str]:
    told = {k: v for k, v in config.to_dict().items() if k != "columns"}
    told["classes"] = f"{config.classes[0]}, {config.classes[1]} (the last is the positive one)"
    # What was not given is what the profile chose.
    chosen = config.learner.parts()
    told |= {"margin": chosen.margin, "risk_weights": chosen.risk_weights}
    if isinstance(chosen.oracle, CalibratedFairOracle):
        told["level"] = chosen.oracle.level
    learned = sum(column.role == "feature" for column in config.columns)
    out = {_NAMES.get(k, k.replace("_", " ")): _plain(v) for k, v in told.items()}
    out["columns"] = f"{len(config.columns):,}, of which {learned:,} are learned from"
    if (model := status["model"]) is not None:
        kind = "certified, kept" if model["certified"] else "the last one fitted"
        out["model"] = f"round {model['round']}, on {model['labels']} labels ({kind})"
        out["digest of the model"] = model["digest"]
    out["events"] = f"{status['last_event']:,}, the first on {status['created']}"
    packages = ("fairask", "numpy", "scipy", "scikit-learn")
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    return out | {"versions": ", ".join(versions)}


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{k} = {v}" for k, v in value.items()) or "default"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _commands(study: Study, status: Document) -> list[tuple[str, str]]:
    config = study.config
    mine, defaults = config.to_dict(), Config.make(protected=config.protected).to_dict()
    named = [word for spec in as_specs(config.protected) for word in ("--protected", spec)]
    words = ["fairask", "new", "POOL", *named, "--classes", ",".join(config.classes)]
    for name, option in _OPTIONS.items():
        value = mine[name]
        if value != defaults[name] or name == "random_state":
            words += [f"--{option}", f"{value:g}" if isinstance(value, float) else str(value)]
    for column in config.columns:
        words += ["--drop", column.name] if column.role == "hidden" else []
    words += ["--show-protected"] * config.show_protected + ["--use-protected"] * config.use_protected
    where = "URL" if is_url(study.target) else shlex.quote(_title(study.target))
    commands = [
        ("A study with these settings:", shlex.join(words)),
        ("This report, the labels with their propensities and the log of events:", f"fairask export {where}"),
    ]
    if (last := status["model"]) is not None:
        place = "URL" if is_url(study.target) else repr(_title(study.target))
        commands.append(
            (
                "Labels came from people, so the model is replayed from the log, not made again; "
                "its predictions have the digest above:",
                "from fairask_studio import Study\n"
                f"model = Study.open({place}).learner(at={last['seen']}).current_model()",
            )
        )
    return commands
