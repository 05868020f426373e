"""The page of people: who may sign in, invitations, what each person does, answers taken away."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from fairask.errors import UserError
from fairask_studio import Study
from fairask_studio.events import SKIP, Document, end_of_day, now
from fairask_studio.gold import crew_label_errors, gold_figures
from fairask_studio.pages.access import Me, access_of
from fairask_studio.pages.api import Strict, Text, study_of
from fairask_studio.pages.desk import ask, desk_of
from fairask_studio.state import pace_of
from fairask_studio.store.people import ROLES, Person

router = APIRouter(tags=["owning"])


class Invitation(Strict):
    """How long an invitation can be used."""

    hours: Annotated[float, Field(gt=0, le=720)] = 72.0


class NewPerson(Strict):
    """A person to add."""

    name: Annotated[Text, Field(min_length=1, max_length=64)]
    role: Annotated[str, Field(pattern=f"^({'|'.join(ROLES)})$")] = "annotator"


class NewRole(Strict):
    """Another role."""

    role: Annotated[str, Field(pattern=f"^({'|'.join(ROLES)})$")]


class Address(Strict):
    """Where others reach the studio; empty: at the address of the owner who makes a link."""

    address: Annotated[Text, Field(max_length=260)]


class NewProgram(Strict):
    """A program to give a token to."""

    name: Annotated[Text, Field(min_length=1, max_length=64)]
    role: Annotated[str, Field(pattern=f"^({'|'.join(ROLES)})$")] = "annotator"
    until: date  #: the last day on which the token is valid, in UTC


@router.get("/people")
def people(request: Request, me: Me) -> list[dict[str, str]]:
    """Return who may sign in."""
    return [
        {"name": person.name, "role": person.role, "since": person.since}
        for person in study_of(request).people.all()
    ]


@router.post("/people", status_code=201)
def add_person(request: Request, new: NewPerson, me: Me) -> dict[str, str]:
    """Add a person; the token is in this response only."""
    study = study_of(request)
    if not study.people.all() and new.role != "owner":
        raise HTTPException(409, "the first person must be an owner, or nobody could change the study")
    token = study.people.add(new.name, new.role)
    access_of(request).log.note(me.name, "added", new.name, request)
    return {"name": new.name, "role": new.role, "token": token}


@router.put("/people/{name}")
def change_role(request: Request, name: str, new: NewRole, me: Me) -> dict[str, str]:
    """Give a person another role, at once; the last owner stays one."""
    study_of(request).people.change_role(name, new.role)
    access_of(request).log.note(me.name, f"made {new.role}", name, request)
    return {"name": name, "role": new.role}


@router.put("/address")
def set_address(request: Request, new: Address, me: Me) -> dict[str, str]:
    """Set the address at which others reach the studio, for links that invite."""
    address = new.address.strip().rstrip("/")
    study_of(request).change(address=address, who=me.name)
    return {"address": address}


@router.delete("/people/{name}")
def remove_person(request: Request, name: str, me: Me) -> dict[str, str]:
    """Remove a person; their answers stay."""
    study_of(request).people.remove(name)
    access_of(request).log.note(me.name, "removed", name, request)
    return {"name": name}


@router.post("/people/{name}/invitation", status_code=201)
def invite(request: Request, name: str, wanted: Invitation, me: Me) -> Document:
    """Make the path of a link that begins one session of a person; it is in this response only."""
    people = study_of(request).people
    if people.by_name(name) is None:
        raise HTTPException(404, f"nobody is named {name!r}, or their token has expired")
    seconds = 3600.0 * wanted.hours
    code = people.invite(name, seconds)
    access_of(request).log.note(me.name, "invited", name, request)
    return {"name": name, "path": f"/?code={code}", "until": now(seconds)}


@router.get("/programs")
def programs(request: Request, me: Me) -> list[Document]:
    """Return the programs that have a token, or had one until it ended."""
    return [
        {"name": p.name, "role": p.role, "since": p.since, "until": p.until, "ended": p.until <= now()}
        for p in study_of(request).people.programs()
    ]


@router.post("/programs", status_code=201)
def add_program(request: Request, new: NewProgram, me: Me) -> Document:
    """Give a program a token; the token is in this response only."""
    until = end_of_day(new.until)
    token = study_of(request).people.add_program(new.name, new.role, until)
    access_of(request).log.note(me.name, "gave a token to the program", new.name, request)
    return {"name": new.name, "role": new.role, "until": until, "token": token}


@router.delete("/programs/{name}")
def revoke(request: Request, name: str, me: Me) -> Document:
    """Revoke a program's token at once; what the program did stays."""
    people = study_of(request).people
    if name not in {program.name for program in people.programs()}:
        raise HTTPException(404, f"no program is named {name!r}")
    people.remove(name)
    access_of(request).log.note(me.name, "revoked the token of", name, request)
    return {"name": name}


#: A median of fewer seconds between so many answers is not reading.
_TOO_FAST, _FEWEST = 1.0, 20


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
    pace, pauses = pace_of(times)
    pairs = counts[name, "pairs"]
    return {
        "name": name,
        "role": None if person is None else person.role,
        "labels": counts[name, "labels"],
        "skips": counts[name, "skips"],
        "seconds": pace,
        "last": datetime.fromtimestamp(max(times)).astimezone().isoformat() if times else None,
        "too_fast": pace is not None and pace < _TOO_FAST and pauses >= _FEWEST,
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


@router.get("/people/figures")
def figures(request: Request, me: Me) -> list[Document]:
    """Return pace, agreement and share of positives per group of each person."""
    return ask(request, people_figures)


def people_errors(study: Study) -> Document:
    """Return each person's errors, who should be looked at, and what audits take for wrong labels."""
    crew = study.crew()
    if crew is None or not crew.shared:
        return {"shared": 0, "errors": [], "suspects": [], "labels": None, "refused": ""}
    labels, refused = None, ""
    try:
        with study.lock:
            labels = crew_label_errors(study.state(), crew)
    except UserError as error:
        refused = str(error)
    return {
        "shared": crew.shared,
        "errors": [asdict(error) for error in crew.errors()],
        "suspects": [
            {
                "kind": s.kind,
                "people": list(s.people),
                "words": s.words,
                "rows": [int(str(r)) for r in s.rows],
            }
            for s in crew.suspects()
        ],
        "labels": None if labels is None else {name: asdict(error) for name, error in labels.items()},
        "refused": refused,
    }


@router.get("/people/errors")
def errors(request: Request, me: Me) -> Document:
    """Return how often each person errs, by group and right answer, and who should be looked at."""
    return ask(request, people_errors)


class MoreOpinions(Strict):
    """How many rows to ask again."""

    rows: Annotated[int, Field(ge=1, le=10_000)]


@router.post("/people/again", status_code=201)
def ask_again(request: Request, wanted: MoreOpinions, me: Me) -> Document:
    """Ask other people about labelled rows once more, where labels are probably wrong."""
    return {"rows": len(desk_of(request).do(Study.ask_again, wanted.rows, me.name))}


@router.post("/qr", response_class=Response, responses={200: {"content": {"image/svg+xml": {}}}})
async def qr_code(request: Request, me: Me) -> Response:
    """Return the text of the body as a QR code, an SVG image."""
    import segno

    text = (await request.body())[:500].decode("utf-8", "replace")
    made = await run_in_threadpool(segno.make, text or " ", micro=False)
    return Response(made.svg_inline(scale=5, border=2), media_type="image/svg+xml")


_Time = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\x00]*$")]

_Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00]*$")]


class Reopening(Strict):
    """Which answers to take away: one person's, of some time (UTC), or only skips."""

    name: _Name | None = None
    since: _Time | None = None
    until: _Time | None = None
    skips: bool = False
    look: bool = False  #: count only


@router.get("/reopened")
def reopened(request: Request, me: Me) -> list[Document]:
    """Return what was reopened and can be given back, latest first."""
    study = study_of(request)
    with study.lock:
        found = {number: len(answers) for number, answers in study.state().reopened.items() if answers}
    events = {event.id: event for number in found for event in study.store.events(number - 1, number)}
    return [
        {
            "event": number,
            "at": events[number].at,
            "who": events[number].who,
            "answers": count,
            **{k: v for k, v in events[number].data.items() if k != "answers"},
        }
        for number, count in sorted(found.items(), reverse=True)
    ]


@router.post("/reopened", status_code=201)
def take_away(request: Request, wanted: Reopening, me: Me) -> Document:
    """Take answers away and ask for their rows again, or only count them."""
    return asdict(study_of(request).reopen(**wanted.model_dump(), who=me.name))


@router.delete("/reopened/{event}")
def undo(request: Request, event: Annotated[int, Path(ge=1, le=2**31 - 1)], me: Me) -> Document:
    """Give the answers back that an event took away."""
    return asdict(study_of(request).restore(event, me.name))
