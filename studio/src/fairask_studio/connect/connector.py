"""Connectors: a link between a study and a tool, the rows that go there, the answers that come back.

A connector has no state of its own: what was sent and what came back is in the log. It waits and tries
again where the tool cannot be reached.
"""

from __future__ import annotations

import hmac
import random
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fairask.log import ASKED
from fairask_studio import Study, StudyError
from fairask_studio.columns import ColumnInfo
from fairask_studio.config import Config
from fairask_studio.events import Cell, Document, RowsSent, ToolLinked
from fairask_studio.store.database import UNREACHABLE, why_unreachable
from fairask_studio.store.people import hash_of
from fairask_studio.tools import Intake, OutsideAnswer


class ToolUnreachable(Exception):
    """The tool cannot be reached now, or asks to be left alone for a while; the same is tried again later.

    What will not pass (a wrong token, a project that is gone) is a :class:`fairask.errors.UserError`.
    """

    def __init__(self, what: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.wait = wait  #: seconds that the tool asked for


@dataclass(frozen=True)
class Link:
    """What a link is to be; see :func:`ensure_link`."""

    name: str
    tool: str  #: "labelstudio" or "webhook"
    url: str
    project: int | None = None
    protected: bool = False  #: whether the protected columns are sent
    predictions: bool = False  #: whether the model's predictions are sent; they sway people

    @classmethod
    def of(cls, linked: ToolLinked) -> Link:
        """Return the link that the log has."""
        options = linked.options or {}
        return cls(linked.link, linked.tool, linked.url, linked.project, **options)

    def linked(self, token: str, people: dict[str, str] | None) -> ToolLinked:
        """Return the event that makes the link so."""
        options = {"protected": self.protected, "predictions": self.predictions}
        return ToolLinked(self.name, self.tool, self.url, token, self.project, options, people)


def ensure_link(study: Study, link: Link, who: str, *, renew: bool = False) -> str:
    """Write the link into the log unless it is there; return a new token, or an empty text.

    Parameters
    ----------
    study : Study
    link : Link
        What it is to be.
    who : str
        Who links the tool.
    renew : bool
        Whether to make another token; the old one ends.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", link.name):
        raise StudyError(f"{link.name!r} cannot be a link's name; 1 to 32 letters, digits and dashes")
    with study.lock:
        now = study.state().outside.links.get(link.name)
    if now is not None and now.tool != link.tool:
        raise StudyError(f"the link {link.name!r} is one of {now.tool}; choose another name with --name")
    if now is not None and now.tool == "labelstudio" and now.url != link.url:
        # Another server counts its annotations anew: their numbers would be mistaken for known ones.
        raise StudyError(f"the link {link.name!r} is to {now.url}; choose another name with --name")
    known = now is not None and not renew
    if now is not None and known and Link.of(now) == link:
        return ""
    new = "" if known else secrets.token_urlsafe(24)
    kept = now.token if known and now is not None else hash_of(new)
    people = None if now is None or now.url != link.url else now.people
    study.store.append(who, link.linked(kept, people))
    return new


def name_people(study: Study, name: str, people: dict[str, str]) -> None:
    """Write the names of a tool's people into the log if any is new."""
    with study.lock:
        now = study.state().outside.links[name]
    known = now.people or {}
    if any(known.get(number) != who for number, who in people.items()):
        study.store.append("fairask", replace(now, people={**known, **people}))


def is_token(linked: ToolLinked, token: str) -> bool:
    """Whether this is the token of a link."""
    return hmac.compare_digest(linked.token, hash_of(token))


def link_counts(study: Study) -> list[Document]:
    """Return what went through each link: rows sent, answers taken, and answers refused with the reason."""
    with study.lock:
        outside = study.state().outside
        return [
            {
                "link": name,
                "tool": linked.tool,
                "url": linked.url,
                "project": linked.project,
                "sent": len(outside.sent.get(name, ())),
                "taken": sum(key[0] == name and not answer.gone for key, answer in outside.taken.items()),
                "refused": [vars(refused) for refused in outside.refused.values() if refused.link == name],
            }
            for name, linked in outside.links.items()
        ]


@dataclass(frozen=True)
class OutgoingRow:
    """A drawn row with the code that must come back with its answers."""

    row: int
    check: str
    cells: dict[str, Cell]


def columns_for(config: Config, protected: bool) -> list[ColumnInfo]:
    """Return the columns that a tool gets: those that annotators see, and protected ones only if asked."""
    shown = set(config.shown)
    return [
        column
        for column in config.columns
        if (protected if column.role == "protected" else column.name in shown)
    ]


def outgoing_rows(study: Study, rows: Sequence[int], protected: bool) -> list[OutgoingRow]:
    """Return drawn rows as a tool gets them."""
    names = [column.name for column in columns_for(study.config, protected)]
    codes = study.row_codes(rows)
    found = study.rows(rows)
    return [
        OutgoingRow(row, codes[row], {name: cells[name] for name in names})
        for row, cells in zip(rows, found, strict=True)
    ]


def unsent_rows(study: Study, name: str, most: int) -> list[list[int]]:
    """Return parts of batches, at most ``most`` rows each, with open rows that the link has not sent.

    The cut does not depend on what was sent or answered: after a kill, the part is sent again as it was.
    """
    with study.lock:
        state = study.state()
        sent = state.outside.sent.get(name, set())
        batches: dict[int, list[int]] = {}
        wanted: set[tuple[int, int]] = set()
        for entry in state.log.entries:
            rows = batches.setdefault(entry.batch, [])
            if entry.state == ASKED and entry.index not in sent:
                wanted.add((entry.batch, len(rows) // most))
            rows.append(entry.index)
    return [batches[batch][part * most : (part + 1) * most] for batch, part in sorted(wanted)]


#: First and longest pause after a failure, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0


class Tool(Protocol):
    """Where people label. Each method raises ToolUnreachable for what passes, UserError for what does not."""

    link: Link
    most: int  #: rows per call of ``send``

    def send(self, rows: Sequence[OutgoingRow]) -> None:
        """Make sure that the tool has these rows; it may have some of them already."""
        ...

    def answers(self) -> Sequence[OutsideAnswer]:
        """Return answers that are new or may be new; all of them from time to time."""
        ...

    def missing(self, rows: Sequence[int]) -> Sequence[int]:
        """Return those of the rows that were sent and are no longer in the tool."""
        ...


class Connector:
    """Keeps a tool and a study in step.

    Parameters
    ----------
    study : Study
    tool : Tool
    seconds : float
        Pause between two looks at the tool.
    say : callable
        Told what happens, in words.
    """

    def __init__(
        self,
        study: Study,
        tool: Tool,
        *,
        seconds: float = 5.0,
        say: Callable[[str], object] = lambda words: None,
    ) -> None:
        self.study, self.tool, self.seconds, self.say = study, tool, seconds, say
        self.failures = 0  #: attempts that failed since the last success

    def step(self) -> Intake:
        """Take the answers that are there, and send the rows that wait."""
        done = self.collect()
        self.send()
        return done

    def collect(self) -> Intake:
        """Take the answers that are there."""
        done = self.study.receive(self.tool.link.name, self.tool.answers())
        for reason in done.refused:
            self.say(f"refused: {reason}")
        return done

    def send(self) -> int:
        """Send rows that were drawn and not sent, or that the tool has lost; return how many."""
        name, count = self.tool.link.name, 0
        for part in unsent_rows(self.study, name, self.tool.most):
            self._send(part)
            self.study.store.append("fairask", RowsSent(name, part))
            count += len(part)
        with self.study.lock:
            log = self.study.state().log
            still = [entry.index for entry in log.entries if entry.state == ASKED]
        lost = self.tool.missing(still)
        for start in range(0, len(lost), self.tool.most):
            self._send(lost[start : start + self.tool.most])
        if count + len(lost):
            self.say(f"sent {count + len(lost)} rows")
        return count + len(lost)

    def _send(self, rows: Sequence[int]) -> None:
        self.tool.send(outgoing_rows(self.study, rows, self.tool.link.protected))

    def try_step(self) -> float:
        """Do a step; return the seconds to wait before the next one, more after each failure."""
        try:
            self.step()
        except (ToolUnreachable, *UNREACHABLE) as error:
            self.failures += 1
            pause = min(_FIRST_PAUSE * 2.0 ** (self.failures - 1), _LONGEST_PAUSE)
            wait = pause * random.uniform(0.5, 1.0)  # not all at once after an outage
            if isinstance(error, ToolUnreachable):
                wait, why = max(wait, error.wait), str(error)
            else:
                why = f"the study's database cannot be used: {why_unreachable(error)}"
            self.say(f"{why}; trying again in {wait:.0f} s")
            return wait
        self.failures = 0
        return self.seconds

    def run(self, wait: Callable[[float], bool]) -> None:
        """Work until ``wait(seconds)``, which waits, returns true."""
        while not wait(self.try_step()):
            pass


def finish(study: Study, labels: int, who: str) -> Document | None:
    """Go on from labels to a certificate: begin the audit, then certify; return the certificate when there.

    ``labels`` is the most that the audit may ask for. Nothing happens while rows wait for answers or a fit is
    due. Calling it again and again is safe.
    """
    with study.lock:
        state = study.state()
        audit, certificates = state.audit, state.certificates
        waiting = state.undrawn > 0 or state.answered < len(state.log.entries) or state.fit_is_due()
        ready = state.model is not None and not waiting
    if certificates:
        return certificates[-1]
    if audit is not None:
        return study.certify(who) if audit.done else None
    if ready:
        study.start_audit(labels, who)
    return None
