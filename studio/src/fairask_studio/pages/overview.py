"""The overview: where the study stands in words, its steps, the one thing to do next, what happened."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from fairask.log import LABELLED
from fairask.report import words
from fairask_studio import Study
from fairask_studio.events import SKIP, Document, now
from fairask_studio.gold import gold_figures
from fairask_studio.pages.access import Me
from fairask_studio.pages.api import study_of
from fairask_studio.pages.desk import desk_of
from fairask_studio.proxies import proxy_columns

router = APIRouter(tags=["owning"])

#: Seconds over which the pace is measured, longest first.
_WINDOWS = (3600.0, 600.0)


@dataclass(frozen=True)
class Step:
    """What to do next: words of the button, its page, and what it needs."""

    words: str
    page: str
    why: str = ""


def story(study: Study) -> Document:
    """Return headline, steps, next step, pace and what is to be settled."""
    status = study.status()
    rest = _counted(study)
    return {
        "last_event": status["last_event"],
        "headline": headline(status),
        "steps": steps(status),
        "next": asdict(next_step(status, rest["disagreements"], len(rest["flags"]))),
        **rest,
    }


def headline(status: Document) -> list[str]:
    """Say where the study stands.

    Examples
    --------
    >>> headline({"labels": 0, "batch_size": 25, "tolerance": 0.1})
    ['No labels yet: the first 25 rows are drawn at random, so that nothing is assumed.']
    """
    labels, tolerance = status["labels"], status["tolerance"]
    if not labels:
        return [words.begin_sentence("labels", status["batch_size"])]
    fitted = _fitted(status)
    found = None if fitted is None else fitted["estimate"]
    if fitted is None or found is None:
        return [words.right_sentence(labels, None)]
    said = [words.right_sentence(labels, found["accuracy"]["value"])]
    if found["gap"] is None:
        return [*said, "One group has no such labels yet, so the gap between groups is not known."]
    said.append(words.apart_sentence(found["rates"], status["classes"], tolerance))
    if status["certificate"] is not None and _is_about_model(status):
        made = status["certificate"]
        return [*said, words.verdict_sentence(made["verdict"], made["upper"], made["delta"])]
    gap = words.guess_of(found["gap"])
    return [*said, words.allowed_sentence(gap, tolerance, fitted)]


def _fitted(status: Document) -> Document | None:
    """Return the entry of the study's model in the history."""
    model = status.get("model")
    entries = [e for e in status["history"] if model is None or e["digest"] == model["digest"]]
    return entries[-1] if entries else None


def _is_about_model(status: Document) -> bool:
    about, model = status["certificate"].get("model"), status["model"]
    return about is not None and model is not None and bool(about["digest"] == model["digest"])


def steps(status: Document) -> list[Document]:
    """Return the four steps, each done, under way or to come.

    Examples
    --------
    >>> status = {"labels": 60, "budget": 60, "complete": True, "history": [{}], "audit": None,
    ...           "certificate": None, "model": None}
    >>> [step["state"] for step in steps(status)]
    ['done', 'done', 'now', 'later']
    """
    certificate = status["certificate"]
    judged = certificate is not None and _is_about_model(status)
    done = [
        bool(status["complete"]) or judged or status["audit"] is not None,
        bool(status["history"]),
        judged,
        judged and certificate["verdict"] == "certified",
    ]
    words = [
        f"{status['labels']:,} of {status['budget']:,} labels",
        f"{len(status['history']):,} models",
        _audit_words(status),
        certificate["verdict"] if judged else "not yet",
    ]
    # Labels and models come in turns, so the first two are under way together.
    first = next((i for i, reached in enumerate(done) if not reached), 4)
    return [
        {"name": name, "words": said, "state": "done" if reached else "now" if i == first else "later"}
        for i, (name, said, reached) in enumerate(
            zip(("Label", "Train", "Audit", "Certified"), words, done, strict=True)
        )
    ]


def _audit_words(status: Document) -> str:
    audit = status["audit"]
    return "none yet" if audit is None else f"{audit['labels']:,} of at most {audit['size']:,} labels"


def next_step(status: Document, disagreements: int = 0, flags: int = 0) -> Step:
    """Return the one thing to do next.

    Examples
    --------
    >>> status = {"audit": {"done": True}, "certificate": None, "model": None}
    >>> next_step(status).words
    'Issue the certificate'
    """
    audit, certificate = status["audit"], status["certificate"]
    if audit is not None:
        if audit["done"]:
            return Step("Issue the certificate", "certificate", "The audit has the labels it needs.")
        missing = audit["size"] - audit["labels"]
        return Step(
            "Label the audit's rows", "label", f"An audit is under way: at most {missing:,} more labels."
        )
    if certificate is not None and _is_about_model(status):
        if certificate["verdict"] == "certified":
            return Step(
                "Download the certified model", "model", "The model stays as it is until you fit again."
            )
        if certificate["verdict"] == "undecided":
            return Step("Audit with more labels", "certificate", "The last audit could not tell.")
        return Step("See the certificate", "certificate", "This model should not be used as it is.")
    if not status["complete"]:
        left = status["budget"] - status["labels"]
        return Step("Label rows", "label", f"{left:,} labels of the budget are left.")
    if flags:
        return Step("Answer flags", "rows?flag=open", f"People ask about {flags:,} rows.")
    if disagreements:
        return Step(
            "Settle disagreements", "rows?disagree=true", f"People disagree on {disagreements:,} rows."
        )
    if not status["history"]:
        return Step("Wait for the model", "model", "A model is fitted when the first batch is answered.")
    return Step("Start an audit", "certificate", "The budget is spent. An audit tells what can be promised.")


def _counted(study: Study) -> Document:
    """Count what only the answers tell: disagreements, flags, positives per group, pace."""
    since = {window: now(-window) for window in _WINDOWS}
    with study.lock:
        state = study.state()
        split = sum(
            len({a.code for a in given.values() if a.code != SKIP}) > 1 and row not in state.decided
            for row, given in state.answers.items()
        )
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
        moments = [
            a.at for given in state.answers.values() for a in given.values() if a.at >= since[_WINDOWS[0]]
        ]
        left = max(state.budget - (state.answered - state.skipped), 0) * state.config.overlap
    pace = _pace(moments, since)
    return {
        "disagreements": split,
        "flags": flags,
        "wrong": wrong,
        "positives": [
            {"group": str(name), "labels": labels[code], "positives": positives[code]}
            for code, name in enumerate(study.groups)
        ],
        "pace": pace,
        "hours_left": None if pace is None or not left else left / pace,
    }


def _pace(moments: list[str], since: dict[float, str]) -> float | None:
    """Return answers per hour over the last hour, or over the ten minutes since work began."""
    if len(moments) < 5:
        return None
    first = min(datetime.fromisoformat(moment).timestamp() for moment in moments)
    last = max(datetime.fromisoformat(moment).timestamp() for moment in moments)
    if max(moments) < since[_WINDOWS[1]]:
        return None  # nobody labels now
    return 3600.0 * (len(moments) - 1) / max(last - first, 1.0)


_PROXIES: dict[tuple[str, tuple[str, ...]], list[Document]] = {}


def proxies(study: Study) -> list[Document]:
    """Return columns that annotators see and that tell the group; computed once for what is shown."""
    shown = tuple(column.name for column in study.config.columns if column.display != "none")
    key = (study.target, shown)
    if key not in _PROXIES:
        _PROXIES.clear()
        titles = {column.name: column.title or column.name for column in study.config.columns}
        _PROXIES[key] = [{"column": n, "title": titles[n], "lift": lift} for n, lift in proxy_columns(study)]
    return _PROXIES[key]


@router.get("/proxies")
def proxy_warnings(request: Request, me: Me) -> list[Document]:
    """Return the columns shown to annotators from which the hidden group can be told."""
    return desk_of(request).ask(proxies)


@router.get("/story")
def get_story(request: Request, me: Me) -> Document:
    """Return where the study stands in words, its steps and the next one, pace and disagreements."""
    return desk_of(request).ask(story)


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
    found = desk_of(request).ask(Study.status)
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
