"""The state of a study, replayed from its events.

Nothing is derived again: the rows of a batch, their propensities and components are in its ``proposed``
event, so a replay gives the same draws on any machine and with any later version of the strategies.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairask.learner.log import ASKED, LABELLED, SKIPPED, DrawLog
from fairask.sampling import Draws
from fairask.stopping import Plateau, make_rule
from fairask.study._events import Event
from fairask.study.config import Config

__all__ = ["AUDIT", "SKIP", "Answer", "Audit", "State", "verdict"]

#: Component of rows drawn to judge a model: uniform within groups, never trained on while the audit lasts.
AUDIT = "audit"

#: Code of the answer "cannot be labelled".
SKIP = -1


@dataclass(frozen=True)
class Answer:
    """What one person said about one row."""

    code: int
    at: str
    note: str = ""


@dataclass
class Audit:
    """An audit under way."""

    size: int
    seen: int  #: the event up to which the model was trained
    batch: int  #: its first batch
    drawn: int = 0  #: rows drawn and not skipped


def verdict(answers: list[int], decided: int | None, overlap: int) -> tuple[str, int | None]:
    """State and label of a row from its answers, oldest first.

    A decision stands above answers. Otherwise the most frequent label counts, the earliest of those
    at a tie; a row is skipped when everyone who was to answer it skipped it.

    Examples
    --------
    >>> verdict([1, 0, 0], None, 3), verdict([1, 0], None, 2), verdict([SKIP], None, 1), verdict([], 1, 1)
    (('labelled', 0), ('labelled', 1), ('skipped', None), ('labelled', 1))
    """
    if decided is not None:
        return LABELLED, decided
    labels = Counter(code for code in answers if code != SKIP)
    if labels:
        return LABELLED, labels.most_common(1)[0][0]
    return (SKIPPED, None) if len(answers) >= overlap else (ASKED, None)


@dataclass
class State:
    """Everything known about a study after event number ``last``."""

    config: Config
    log: DrawLog
    created: str = ""
    last: int = 0
    batches: int = 0
    answered: int = 0  #: drawn rows that are labelled or skipped
    skipped: int = 0
    audit: Audit | None = None
    audited: int = 0  #: rows drawn for audits and not skipped; they are not part of the budget
    answers: dict[int, dict[str, Answer]] = field(default_factory=dict)
    by: Counter[str] = field(default_factory=Counter)  #: answers of each person
    seen: dict[str, str] = field(default_factory=dict)  #: when each person answered last
    recent: dict[str, dict[int, None]] = field(default_factory=dict)  #: their rows, latest last
    decided: dict[int, int] = field(default_factory=dict)
    decided_by: dict[int, str] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    pool: dict[str, Any] | None = None  #: the reference to a pool that was not copied
    cells: dict[int, dict[str, Any]] = field(default_factory=dict)  #: drawn rows of such a pool

    @classmethod
    def begin(cls, event: Event) -> State:
        """The state after the first event."""
        config = Config.from_dict(event.data["config"])
        pool = event.data.get("pool")
        return cls(config, DrawLog(config.rows), created=event.at, last=event.id, pool=pool)

    def apply(self, event: Event) -> None:
        """Take one event into account."""
        data = event.data
        match event.kind:
            case "configured":
                self.config = self.config.reworded(data["question"], data["columns"])
            case "proposed":
                self._proposed(data)
            case "labelled":
                self._answered(event, Answer(data["label"], event.at, data.get("note", "")))
            case "skipped":
                self._answered(event, Answer(SKIP, event.at, data.get("note", "")))
            case "withdrawn":
                self.answers[data["row"]].pop(event.who)
                self.recent[event.who].pop(data["row"])
                self.by[event.who] -= 1
                self._settle(data["row"])
            case "corrected" if data["decides"]:
                self.decided[data["row"]], self.decided_by[data["row"]] = data["label"], event.who
                self._settle(data["row"])
            case "corrected":
                before = self.answers[data["row"]][event.who]
                self.answers[data["row"]][event.who] = Answer(data["label"], before.at, before.note)
                self._settle(data["row"])
            case "fitted":
                self.history.append({**data, "event": event.id, "at": event.at})
            case "audit" if data["size"]:
                self.audit = Audit(data["size"], self.history[-1]["seen"], self.batches)
            case "audit":
                self.audit = None
            case "relocated" if self.pool is not None:
                self.pool = {**self.pool, "uri": data["uri"]}
            case "stopping":
                self.config = replace(self.config, stop=data["rule"])
            case "certified":
                self.certificates.append({**data, "event": event.id, "at": event.at})
            case kind:
                raise ValueError(f"event {event.id} is of kind {kind!r}, which this version does not know")
        self.last = event.id

    def _proposed(self, data: dict[str, Any]) -> None:
        q = np.array([np.nan if p is None else p for p in data["propensities"]])
        draws = Draws(np.array(data["rows"]), q, list(data["components"]), np.array(data["pool_sizes"]))
        self.log.add(draws, data["batch"])
        self.batches = data["batch"] + 1
        for row, cells in zip(data["rows"], data.get("cells", ()), strict=False):
            self.cells[row] = dict(zip(data["columns"], cells, strict=True))
        self._count_audit(sum(component == AUDIT for component in data["components"]))

    def _answered(self, event: Event, answer: Answer) -> None:
        self.answers.setdefault(event.data["row"], {})[event.who] = answer
        self.recent.setdefault(event.who, {})[event.data["row"]] = None
        self.by[event.who] += 1
        self.seen[event.who] = event.at
        self._settle(event.data["row"])

    def _settle(self, row: int) -> None:
        entry = self.log.entries[self.log.position[row]]
        codes = [answer.code for answer in self.answers.get(row, {}).values()]
        state, label = verdict(codes, self.decided.get(row), self.config.overlap)
        if (state, label) != (entry.state, entry.label):
            self.answered += (state != ASKED) - (entry.state != ASKED)
            skips = (state == SKIPPED) - (entry.state == SKIPPED)
            self.skipped += skips
            if entry.component == AUDIT:
                self._count_audit(-skips)
            entry.state, entry.label = state, label
            self.log.version += 1

    def _count_audit(self, rows: int) -> None:
        self.audited += rows
        if self.audit is not None:
            self.audit.drawn += rows

    @property
    def undrawn(self) -> int:
        """Rows that may still be drawn: of the audit while there is one, else of the budget."""
        drawn = len(self.log.entries)
        left = self.config.budget - (drawn - self.skipped - self.audited)
        if self.audit is not None:
            left = self.audit.size - self.audit.drawn
        elif self.stop_reason is not None:
            left = 0
        return max(min(left, self.config.rows - drawn), 0)

    @property
    def stop_reason(self) -> str | None:
        """Why the study's rule ends it before its budget; None while it goes on."""
        if not self.config.stop:
            return None
        rule = make_rule(self.config.stop)
        assert isinstance(rule, Plateau)
        return rule.reason_in(self.history)

    @property
    def budget(self) -> int:
        """Labels to be had in all, those of audits included."""
        planned = self.audit.size - self.audit.drawn if self.audit is not None else 0
        return self.config.budget + self.audited + planned

    def count(self, state: str) -> int:
        """Drawn rows in a state ("asked", "labelled", "skipped")."""
        return sum(entry.state == state for entry in self.log.entries)
