"""The overview: where the study stands in words, its steps, the one thing to do next, what happened."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response
from numpy.typing import NDArray

from fairask.log import LABELLED
from fairask_studio import Study
from fairask_studio.advice import AUDITABLE, JUDGED, first_rows, next_step
from fairask_studio.columns import MEDIA
from fairask_studio.events import Document, now
from fairask_studio.gold import gold_figures
from fairask_studio.pages.access import Me
from fairask_studio.pages.api import study_of
from fairask_studio.pages.desk import ask

router = APIRouter(tags=["owning"])

#: Seconds over which the pace is measured, and after which nobody labels now.
_WINDOW, _PAUSE = 3600.0, 600.0


def story(study: Study) -> Document:
    """Return the steps, the next one, what to do on the first day, pace and what is to be settled."""
    status = study.status()
    rest = _counted(study)
    return {
        "last_event": status["last_event"],
        "steps": steps(status),
        "next": asdict(next_step(status, rest["disagreements"], len(rest["flags"]))),
        "checklist": [] if status["history"] else checklist(study, status),
        **rest,
    }


def checklist(study: Study, status: Document) -> list[Document]:
    """Return what to do on the first day, until there is a model: words, page, whether it is done."""
    known, config = status["known"], study.config
    first = first_rows(study.state())
    return [
        {"words": said, "page": page, "done": done}
        for said, page, done in (
            ("Write guidelines for annotators", "settings#guidelines", bool(config.guidelines)),
            ("Invite people", "people", len(study.people.all()) > 1),
            ("Give some rows a known answer, for practice", "settings#known-title", any(known.values())),
            (f"Label the first {first:,} rows: {min(status['labels'], first):,} done", "label", False),
        )
    ]


_DECIDED = {"certified": "decided", "refuted": "decided", "undecided": "undecided"}


def steps(status: Document) -> list[Document]:
    """Return the four steps, each done, under way or to come.

    Examples
    --------
    >>> status = {"without_audits": {"labels": 60, "budget": 60}, "complete": True, "history": [{}],
    ...           "audit": None, "certificate": None, "advice": {"case": "unsure"}}
    >>> [step["state"] for step in steps(status)]
    ['done', 'done', 'now', 'later']
    """
    certificate, audit = status["certificate"], status["audit"]
    case = status["advice"]["case"]
    judged = case in JUDGED
    labelled = bool(status["complete"]) or judged or audit is not None
    done = [
        labelled,
        bool(status["history"]) and labelled,
        judged,
        case == "certified",
    ]
    models = len(status["history"])
    said = [
        f"{status['without_audits']['labels']:,} of {status['without_audits']['budget']:,} labels",
        f"{models:,} model{'s' * (models != 1)}{'' if labelled or not models else ' so far'}",
        f"{audit['labels']:,} of at most {audit['size']:,} rows" if audit is not None
        else f"{_DECIDED[certificate['verdict']]} with {certificate['n_labels']:,} labels" if judged
        else "none yet",
        "none yet" if not judged
        else "no longer certified" if case != certificate["verdict"] == "certified"  # says its watch
        else certificate["verdict"],
    ]  # fmt: skip
    # Labels and models come in turns, so the first two are under way together. An audit is no step towards a
    # model that nobody should use.
    first = next((i for i, reached in enumerate(done) if not reached), 4)
    if first == 2 and audit is None and case not in AUDITABLE:
        first = 4
    return [
        {"name": name, "words": words, "state": "done" if reached else "now" if i == first else "later"}
        for i, (name, words, reached) in enumerate(
            zip(("Label", "Train", "Audit", "Certificate"), said, done, strict=True)
        )
    ]


def _counted(study: Study) -> Document:
    """Count what only the answers tell: disagreements, flags, positives per group, pace."""
    since = now(-_WINDOW)
    with study.lock:
        state = study.state()
        split = sum(state.is_disputed(row) and row not in state.decided for row in state.answers)
        noted = sum(state.is_noted(row) and row not in state.decided for row in state.answers)
        inbox = len(state.inbox())
        flags = [flag.to_dict() for flag in state.flags.known.values() if flag.open]
        gold = {who: gold_figures(state, who) for who in sorted(state.known.answers)}
        wrong = [{"name": who, **found} for who, found in gold.items() if found and found["below"]]
        labels: Counter[int] = Counter()
        positives: Counter[int] = Counter()
        for entry in state.log.entries:
            if entry.state == LABELLED:
                code = int(study.codes[entry.index])
                labels[code] += 1
                positives[code] += entry.label == 1
        moments = [a.at for given in state.answers.values() for a in given.values() if a.at >= since]
        left = max(state.budget - (state.answered - state.skipped), 0) * state.config.overlap
    pace = _pace(moments)
    return {
        "disagreements": split,
        "flags": flags,
        "notes": noted,
        "inbox": inbox,
        "wrong": wrong,
        "positives": [
            {"group": str(name), "labels": labels[code], "positives": positives[code]}
            for code, name in enumerate(study.groups)
        ],
        "pace": pace,
        "hours_left": None if pace is None or not left else left / pace,
    }


def _pace(moments: list[str]) -> float | None:
    """Return answers per hour since the first of these; None for a few, and while nobody labels."""
    if len(moments) < 5 or max(moments) < now(-_PAUSE):
        return None
    first, last = (datetime.fromisoformat(moment).timestamp() for moment in (min(moments), max(moments)))
    return 3600.0 * (len(moments) - 1) / max(last - first, 1.0)


#: Rows that are looked at, folds, and how much better than guessing a column must be to be named.
_ROWS, _FOLDS, _TOLD = 1500, 3, 0.5
#: A column's name, and how well it tells the group: 0 is guessing, 1 is always right.
Proxy = tuple[str, float]


def group_lift(values: list[Any], codes: NDArray[np.int64]) -> float:
    """Return how well values tell the group, out of fold: 0 is guessing, 1 is always right.

    Texts are compared by their letters, so that first names tell; numbers by their size.

    Examples
    --------
    >>> codes = np.arange(60) % 2
    >>> group_lift(["Anna", "Otto"] * 30, codes)
    1.0
    >>> group_lift([1.0] * 60, codes)
    0.0
    """
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.tree import DecisionTreeClassifier

    groups = len(np.unique(codes))
    if groups < 2 or np.bincount(codes).min() < _FOLDS:
        return 0.0
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    numbers = all(isinstance(value, int | float) or value is None for value in values)
    if numbers:
        known = np.array([np.nan if value is None else float(value) for value in values])
        X: Any = np.nan_to_num(known, nan=float(np.nanmean(known)) if np.isfinite(known).any() else 0.0)[
            :, None
        ]
        model: Any = DecisionTreeClassifier(min_samples_leaf=10, class_weight="balanced", random_state=0)
    else:
        letters = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 4), n_features=1 << 13)
        X = letters.fit_transform(["" if value is None else str(value)[:300] for value in values])
        model = LogisticRegression(C=10.0, class_weight="balanced", max_iter=200)
    found = balanced_accuracy_score(codes, cross_val_predict(model, X, codes, cv=folds))
    return float(round(max((found - 1 / groups) / (1 - 1 / groups), 0.0), 3))


@lru_cache(maxsize=1)
def _proxies(study: Study, names: tuple[str, ...]) -> list[Proxy]:
    """Return those of the columns that tell the group well, the best one first."""
    rows = np.arange(study.config.rows)
    if len(rows) > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))
    cells = study.rows(rows.tolist())
    found = [(name, group_lift([row[name] for row in cells], study.codes[rows])) for name in names]
    return sorted((proxy for proxy in found if proxy[1] >= _TOLD), key=lambda proxy: -proxy[1])


def proxies(study: Study) -> list[Document]:
    """Return columns that annotators see and that tell the group."""
    config = study.config
    kinds = {column.name: column for column in config.columns}
    names = [n for n in config.shown if kinds[n].role != "protected" and kinds[n].display not in MEDIA]
    return [
        {"column": name, "title": kinds[name].title or name, "lift": lift}
        for name, lift in _proxies(study, tuple(names))
    ]


@router.get("/proxies")
def proxy_warnings(request: Request, me: Me) -> list[Document]:
    """Return the columns shown to annotators from which the hidden group can be told."""
    return ask(request, proxies)


@router.get("/story")
def get_story(request: Request, me: Me) -> Document:
    """Return where the study stands in words, its steps and the next one, pace and disagreements."""
    return ask(request, story)


_GIST = ("row", "label", "note", "labels", "batch", "round", "size", "what", "name", "link", "reason", "text")


@router.get("/status", responses={304: {"description": "Nothing has changed."}})
def status(request: Request, response: Response, me: Me) -> Document:
    """Return where the study stands; its ETag changes with it."""
    study = study_of(request)
    waiting, trainer = study.store.waiting(), request.app.state.trainer
    said = study.store.training()
    busy, error = said.busy, said.error or (None if trainer is None else trainer.error)

    def tag(last: int) -> str:
        return f'"{last}-{waiting.people}-{zlib.crc32(repr((busy, error)).encode())}"'

    if request.headers.get("if-none-match") == tag(study.state().last):
        raise HTTPException(304, headers={"ETag": tag(study.state().last)})
    found = ask(request, Study.status)
    response.headers["ETag"] = tag(found["last_event"])  # what is shown may be some seconds old
    return {**found, "busy": busy, "error": error}


@router.get("/events")
def events(request: Request, me: Me, limit: Annotated[int, Query(ge=1, le=200)] = 30) -> list[Document]:
    """Return the latest events as structured data, newest first."""
    study = study_of(request)
    last = study.state().last
    found = [e for e in study.store.events(max(last - limit, 0)) if e.kind != "created"]
    return [{"id": e.id, "at": e.at, "who": e.who, "kind": e.kind, **_gist(e.data)} for e in reversed(found)]


def _gist(data: Document) -> Document:
    kept: Document = {name: data[name] for name in _GIST if name in data}
    if data.get("origin"):
        kept["link"] = data["origin"]["link"]
    if "rows" in data:
        kept["count"] = len(data["rows"])
    return kept
