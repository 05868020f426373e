"""Sentences for the owner of a study."""

from __future__ import annotations

import shlex
from collections.abc import Hashable

import numpy as np

from fairask.audit.plan import QUESTIONS
from fairask.tables.groups import group_notes
from fairask.tables.labels import GUESS, known_positive
from fairask.tables.leaks import group_leaks
from fairask_studio.pool import KEY
from fairask_studio.study import Study


def introduce(study: Study, target: str) -> list[str]:
    """Describe a new study: its goal, its groups, and what its model does not learn from."""
    config = study.config
    groups: dict[Hashable, int] = {g["group"]: int(g["pool"]) for g in study.status()["groups"]}
    sizes = ", ".join(f"{group} {n:,}" for group, n in groups.items())
    negative, positive = config.classes
    words = QUESTIONS[config.learner.metric].words.rstrip(",")
    lines = [
        f"Study {target}: {config.rows:,} rows, groups by {config.grouped_by}: {sizes}",
        f"Goal: a {words} of at most {config.learner.tolerance:g} (--metric {config.learner.metric}, "
        f"--tolerance {config.learner.tolerance:g})",
        f"Labels: {config.budget:,} in batches of {config.learner.batch_size:,}; {positive!r} counts as "
        f"positive, {negative!r} as negative",
    ]
    if known_positive(config.classes) == negative:
        turned = shlex.quote(f"{positive},{negative}")
        lines.append(
            f"{GUESS}the last of --classes is the positive one; if that is {negative!r}: --classes {turned}"
        )
    lines += [f"note: {note}" for note in group_notes(config.grouped_by, groups)]
    lines += _feature_lines(study)
    if config.sampled_from is None:
        lines.append("The pool was copied into the study")
    else:
        lines.append(
            f"The pool is a random sample of {config.rows:,} of {config.sampled_from:,} rows, copied into "
            f"the study; the column {KEY!r} says where each row is. Certificates are about the sample"
        )
    return [*lines, f"Next: fairask ask {target}    or    fairask studio {target}"]


def _feature_lines(study: Study) -> list[str]:
    """Say which columns the model does not learn from, and which tell the group."""
    config, encoder = study.config, study.encoder
    shown = {column.name for column in config.columns if column.role == "shown"}
    why = [f"{name!r} ({reason})" for name, reason in encoder.left_out.items() if name in shown]
    lines = [f"Shown but not learned from: {', '.join(why[:10])}"] if why else []
    lines += [f"note: {note}" for note in encoder.notes() if "text" in note and "were left out" not in note]
    X, named = study.learner().pool.X, np.array(study.groups)[study.codes]
    if isinstance(X, np.ndarray) and not config.use_protected:
        lines += [f"note: {note}" for note in group_leaks(X, named, encoder.feature_names_out)]
    return lines
