"""The API of the people's page: what each person does, and columns that give the group away."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from fairask_studio import Study
from fairask_studio.events import SKIP, Document
from fairask_studio.gold import gold_figures
from fairask_studio.pages._access import Me
from fairask_studio.pages._desk import desk_of
from fairask_studio.proxies import proxy_columns
from fairask_studio.store import Person

router = APIRouter(tags=["owning"])
#: A median of fewer seconds between so many answers is not reading; a longer pause is a break.
_TOO_FAST, _FEWEST, _BREAK = 1.0, 20, 300.0
_PROXIES: dict[tuple[str, tuple[str, ...]], list[Document]] = {}


def people_figures(study: Study) -> list[Document]:
    """Return what each person does: answers, pace, agreement, positives per group beside the others'."""
    with study.lock:
        state = study.state()
        answers = {row: dict(given) for row, given in state.answers.items()}
        groups = {row: str(study.groups[int(study.codes[row])]) for row in answers}
        roles = {person.name: person for person in study.people.all()}
        gold = {name: gold_figures(state, name) for name in {*roles, *state.known.answers}}
    times: dict[str, list[float]] = defaultdict(list)
    counts: Counter[tuple[str, str]] = Counter()
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    shares: dict[str, dict[str, dict[str, float]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(float))
    )
    for row, given in answers.items():
        for who, answer in given.items():
            times[who].append(datetime.fromisoformat(answer.at).timestamp())
            counts[who, "skips" if answer.code == SKIP else "labels"] += 1
            if answer.code == SKIP:
                reasons[who][answer.reason] += 1
            others = [a.code for name, a in given.items() if name != who and a.code != SKIP]
            if answer.code != SKIP:
                cell = shares[who][groups[row]]
                cell["labels"] += 1
                cell["positives"] += answer.code == 1
                counts[who, "pairs"] += len(others)
                counts[who, "same"] += sum(code == answer.code for code in others)
                if others:
                    cell["shared"] += 1
                    cell["mine"] += answer.code == 1
                    cell["theirs"] += sum(code == 1 for code in others) / len(others)
    names = [*roles, *(name for name in sorted({*times, *gold}) if name not in roles)]
    return [
        {
            **_figures(name, roles.get(name), times[name], counts, shares[name]),
            "reasons": [{"reason": why, "skips": skips} for why, skips in reasons[name].most_common()],
            "gold": gold.get(name),
        }
        for name in names
    ]


def _figures(
    name: str,
    person: Person | None,
    times: list[float],
    counts: Counter[tuple[str, str]],
    shares: dict[str, dict[str, float]],
) -> Document:
    times.sort()
    gaps = sorted(b - a for a, b in pairwise(times) if b - a < _BREAK)
    pace = gaps[len(gaps) // 2] if gaps else None
    pairs = counts[name, "pairs"]
    return {
        "name": name,
        "role": None if person is None else person.role,
        "labels": counts[name, "labels"],
        "skips": counts[name, "skips"],
        "seconds": pace,
        "last": datetime.fromtimestamp(times[-1]).astimezone().isoformat() if times else None,
        "too_fast": pace is not None and pace < _TOO_FAST and len(gaps) >= _FEWEST,
        "agreement": counts[name, "same"] / pairs if pairs else None,
        "pairs": pairs,
        "groups": [
            {
                "group": group,
                "labels": int(found["labels"]),
                "positives": found["positives"] / found["labels"],
                "shared": int(found["shared"]),
                "mine": found["mine"] / found["shared"] if found["shared"] else None,
                "theirs": found["theirs"] / found["shared"] if found["shared"] else None,
            }
            for group, found in sorted(shares.items())
        ],
    }


def proxies(study: Study) -> list[Document]:
    """Return columns that annotators see and that tell the group; computed once for what is shown."""
    shown = tuple(column.name for column in study.config.columns if column.display != "none")
    key = (study.target, shown)
    if key not in _PROXIES:
        _PROXIES.clear()
        titles = {column.name: column.title or column.name for column in study.config.columns}
        _PROXIES[key] = [{"column": n, "title": titles[n], "lift": lift} for n, lift in proxy_columns(study)]
    return _PROXIES[key]


@router.get("/people/figures")
def figures(request: Request, me: Me) -> list[Document]:
    """Return pace, agreement and share of positives per group of each person."""
    return desk_of(request).ask(people_figures)


@router.get("/proxies")
def proxy_warnings(request: Request, me: Me) -> list[Document]:
    """Return the columns shown to annotators from which the hidden group can be told."""
    return desk_of(request).ask(proxies)


@router.post("/qr", response_class=Response, responses={200: {"content": {"image/svg+xml": {}}}})
async def qr_code(request: Request, me: Me) -> Response:
    """Return the text of the body as a QR code, an SVG image."""
    import segno

    text = (await request.body())[:500].decode("utf-8", "replace")
    made = await run_in_threadpool(segno.make, text or " ", micro=False)
    return Response(made.svg_inline(scale=5, border=2), media_type="image/svg+xml")
