"""The state of a study, replayed from its events: no database, and no model, is needed for it.

Nothing is computed again: the rows of a batch, their propensities and components are in its event, so a
replay gives the same draws on any machine and with any later version of the strategies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self, cast

import numpy as np

from fairask.audit import Audit
from fairask.audit.audit import AuditState
from fairask.log import ASKED, LABELLED, SKIPPED, DrawLog, DrawnRow
from fairask.sampling import Draws
from fairask.stopping import Plateau, make_rule
from fairask_studio import events as happened
from fairask_studio.config import Config
from fairask_studio.errors import StudyError
from fairask_studio.events import SKIP, Document, Event
from fairask_studio.flags import Flags
from fairask_studio.gold import KnownRows
from fairask_studio.store.transaction import Slot
from fairask_studio.tools import Outside

#: Component of rows drawn to judge a model; they train nothing while the audit lasts.
AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one person said about one row."""

    code: int
    at: str
    note: str = ""
    link: str = ""  #: the tool that it came from; empty for the studio, files and commands
    reason: str = ""  #: why it was skipped


def verdict(answers: list[int], decided: int | None, overlap: int) -> tuple[str, int | None]:
    """Return state and label of a row from its answers, oldest first.

    A decision overrides answers. Otherwise the most frequent label counts, and of labels that are equally
    frequent the earliest. A row is skipped when everyone who was to answer it skipped it.

    Examples
    --------
    >>> verdict([1, 0, 0], None, 3), verdict([1, 0], None, 2), verdict([SKIP], None, 1), verdict([], 1, 1)
    (('labelled', 0), ('labelled', 1), ('skipped', None), ('labelled', 1))
    """
    if decided is not None:
        return LABELLED, decided
    labels = [code for code in answers if code != SKIP]
    if labels:
        return LABELLED, max(labels, key=labels.count)
    return (SKIPPED, None) if len(answers) >= overlap else (ASKED, None)


#: A longer pause between two answers, in seconds, is a break and not a slow answer.
_BREAK = 300.0


def pace_of(times: Iterable[float]) -> tuple[float | None, int]:
    """Return the median of the seconds between a person's answers, and how many pauses it is of."""
    gaps = sorted(b - a for a, b in pairwise(sorted(times)) if b - a < _BREAK)
    return gaps[len(gaps) // 2] if gaps else None, len(gaps)


def _link(origin: Document | None) -> str:
    return "" if origin is None else str(origin["link"])


@dataclass
class OpenAudit:
    """An audit under way."""

    size: int
    seen: int  #: the event up to which the model was trained
    batch: int  #: its first batch
    audit: Audit
    drawn: int = 0  #: rows drawn and not skipped

    @property
    def left(self) -> int:
        """Rows that may be drawn now; none while labels of the open look are missing."""
        return self.size - self.drawn if self.audit.ready else 0

    @property
    def done(self) -> bool:
        """Whether the certificate can be issued."""
        return self.audit.done

    def settle(self, entry: DrawnRow) -> None:
        """Tell the audit what became of one of its rows."""
        if entry.batch < self.batch:
            return
        if entry.index in self.audit.answered:
            self.audit.revise(entry.index, entry.label)
        elif entry.label is not None:
            self.audit.tell(entry.index, entry.label)
        if entry.state == SKIPPED:
            self.audit.skip(entry.index)

    def to_dict(self) -> Document:
        """Return where the audit stands, in plain values."""
        audit = self.audit
        found = audit.certificate() if audit.look else None
        return {
            "size": self.size,
            "seen": self.seen,
            "drawn": self.drawn,
            "labels": audit.n_labels,
            "looks": len(audit.schedule.totals),
            "look": audit.look,
            "next_look": None if self.done else audit.schedule.totals[audit.look],
            "found": None
            if found is None
            else {
                "headline": found.headline(),
                "verdict": found.verdict,
                "lower": found.lower,
                "upper": found.upper,
                "corrected": found.corrected,
            },
            "done": self.done,
        }


#: Events that change a part of the state alone; others of tools come with answers.
_OUTSIDE = (happened.ToolLinked, happened.RowsSent, happened.AnswerRefused)
_FLAGS = (happened.RowFlagged, happened.FlagAnswered, happened.FlagResolved)
_KNOWN = (happened.KnownMarked, happened.KnownRemoved, happened.KnownAnswered)


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
    audit: OpenAudit | None = None
    audits: Counter[str] = field(default_factory=Counter)  #: audits begun, by the digest of their model
    proof: Audit | None = None  #: the audit of the last certificate
    watch: Document | None = None  #: of the certified model, from month to month, and where it stands
    audited: int = 0  #: rows drawn for audits and not skipped; they are not part of the budget
    answers: dict[int, dict[str, Answer]] = field(default_factory=dict)
    by: Counter[str] = field(default_factory=Counter)  #: number of answers of each person
    seen: dict[str, str] = field(default_factory=dict)  #: when each person answered last
    recent: dict[str, dict[int, None]] = field(default_factory=dict)  #: rows of each person, latest last
    skips: Counter[str] = field(default_factory=Counter)  #: number of rows that each person skipped
    reopened: dict[int, dict[tuple[int, str], Answer]] = field(default_factory=dict)  #: by event
    stale: bool = False  #: labels that the last model was trained on were taken away or given back
    warned: list[tuple[str, happened.LimitReached]] = field(default_factory=list)  #: when, and of what
    again: dict[int, float] = field(
        default_factory=dict
    )  #: rows asked for once more, and how likely that was
    decided: dict[int, int] = field(default_factory=dict)
    decided_by: dict[int, str] = field(default_factory=dict)
    history: list[Document] = field(default_factory=list)
    certificates: list[Document] = field(default_factory=list)
    kept: Document | None = None  #: the entry of the certified model, until the owner asks for another fit
    changed: int = 0  #: the last event that corrected or withdrew an answer
    outside: Outside = field(default_factory=Outside)  #: the tools linked to the study
    flags: Flags = field(default_factory=Flags)  #: what people ask about rows
    known: KnownRows = field(default_factory=KnownRows)  #: rows whose answer is known; no labels

    @classmethod
    def replay(cls, events: Iterable[Event]) -> Self:
        """Return the state after these events; the first one must be the creation of the study."""
        rest = iter(events)
        first = next(rest, None)
        if first is None:
            raise StudyError("this database holds no study; make one with: fairask new POOL --to URL")
        created = first.happening
        if not isinstance(created, happened.StudyCreated):
            raise StudyError(f"the first event is of kind {first.kind!r}; restore the study from a copy")
        config = Config.from_dict(created.config)
        state = cls(config, DrawLog(config.rows), created=first.at, last=first.id)
        for event in rest:
            state.apply(event)
        return state

    def apply(self, event: Event) -> None:
        """Take one event into account; StudyError for a kind that this version does not know."""
        what = event.happening
        if isinstance(what, _OUTSIDE):
            self.outside.apply(event, what)
        elif isinstance(what, _FLAGS):
            self.flags.apply(event, what)
        elif isinstance(what, _KNOWN):
            self.known.apply(event, what)
        elif not isinstance(what, happened.AccessNoted) and not (
            self._apply_answer(event, what) or self._apply_model(event, what) or self._apply_setting(what)
        ):
            raise StudyError(f"event {event.id} of kind {event.kind!r} cannot happen here")
        self.last = event.id

    def _apply_answer(self, event: Event, what: happened.Happening) -> bool:
        """Take an event about rows and their answers into account; False if it is none."""
        who = event.who
        if isinstance(what, happened.AnswerWithdrawn) or vars(what).get("origin") is not None:
            self.outside.apply(event, what)
        match what:
            case happened.RowLabelled(row=row, label=code, note=note, origin=origin):
                self._answer(row, who, Answer(code, event.at, note or "", _link(origin)))
            case happened.RowSkipped(row=row, note=note, origin=origin, reason=reason):
                self._answer(row, who, Answer(SKIP, event.at, note or "", _link(origin), reason or ""))
            case happened.RowsDrawn() as drawn:
                self._draw(drawn)
            case happened.OpinionsAsked(rows=rows, propensities=chances, asked=asked):
                likely = dict(zip(rows, chances, strict=True))
                self.again |= {row: likely[row] for row in asked}
            case happened.AnswerWithdrawn(row=row):
                self._take(row, who)
                self.changed = event.id
                self._settle(row)
            case happened.AnswersReopened(answers=taken):
                self.reopened[event.id] = {(row, name): self._take(row, name) for row, name in taken}
                self._settle_all(self.reopened[event.id], -1)
            case happened.AnswersRestored(event=number, answers=given):
                back = {(row, name): self.reopened[number].pop((row, name)) for row, name in given}
                for (row, name), answer in back.items():
                    self._give(row, name, answer)
                    self.answers[row] = dict(sorted(self.answers[row].items(), key=lambda kept: kept[1].at))
                self._settle_all(back, 1)
            case happened.RowCorrected(row=row, label=code, decides=True):
                self.decided[row], self.decided_by[row] = code, who
                self.changed = event.id
                self._settle(row)
            case happened.RowCorrected(row=row, label=code):
                before = self.answers[row][who]
                self.skips[who] += (code == SKIP) - (before.code == SKIP)
                self.answers[row][who] = replace(before, code=code, reason="")
                self.changed = event.id
                self._settle(row)
            case happened.LimitReached() as limit:
                self.warned.append((event.at, limit))
            case _:
                return False
        return True

    def _apply_model(self, event: Event, what: happened.Happening) -> bool:
        """Take an event about a model, an audit or a certificate into account; False if it is none."""
        match what:
            case happened.ModelFitted(document=entry):
                self.stale = False
                self.history.append({**entry, "event": event.id, "at": event.at})
            case happened.AuditChanged(size=0):
                self.audit = None
            case happened.AuditChanged(size=size, audit=begun):
                audit = Audit.from_dict(cast(AuditState, begun))
                model = self.kept or self.history[-1]
                self.audit = OpenAudit(size, model["seen"], self.batches, audit)
                self.audits[model["digest"]] += 1
            case happened.CertificateIssued(document=certificate):
                self.certificates.append({**certificate, "event": event.id, "at": event.at})
                self.watch, self.proof = None, None if self.audit is None else self.audit.audit
                if certificate["verdict"] == "certified":
                    seen = certificate["model"]["seen"]
                    self.kept = next(entry for entry in self.history if entry["seen"] == seen)
            case happened.ModelWatched(document=watch):
                self.watch = watch
            case happened.BudgetRaised(budget=budget):
                self.config = self.config.with_budget(budget)
            case happened.FitAsked():
                self.kept = self.watch = None
            case _:
                return False
        return True

    def _apply_setting(self, what: happened.Happening) -> bool:
        """Take a changed setting into account; False if it is none."""
        match what:
            case happened.LimitsChanged() as limits:
                self.config = self.config.limited(limits)
            case happened.StudyReworded() as words:
                self.config = self.config.reworded(words)
            case happened.StopRuleChanged(rule=rule):
                learner = replace(self.config.learner, stopping=rule or None)
                self.config = replace(self.config, learner=learner)
            case _:
                return False
        return True

    @property
    def trained_to(self) -> int | None:
        """The event up to which the study's model was trained; None before any fit."""
        return None if self.model is None else int(self.model["seen"])

    @property
    def model(self) -> Document | None:
        """The entry of the study's model in the history: the certified one while it is kept, else the last.

        Its ``seen`` is the event up to which the model was trained; ``round``, ``labels`` and ``digest``
        name it.
        """
        return self.kept or (self.history[-1] if self.history else None)

    def _draw(self, drawn: happened.RowsDrawn) -> None:
        q = np.array([np.nan if p is None else p for p in drawn.propensities])
        draws = Draws(np.array(drawn.rows), q, list(drawn.components), np.array(drawn.pool_sizes))
        self.log.add(draws, drawn.batch)
        self.batches = drawn.batch + 1
        self._count_audit(sum(component == AUDIT for component in drawn.components))
        if drawn.look is not None and self.audit is not None:
            self.audit.audit.record(drawn.look, drawn.rows)

    def _answer(self, row: int, who: str, answer: Answer) -> None:
        self._give(row, who, answer)
        self.seen[who] = answer.at
        self._settle(row)

    def _give(self, row: int, who: str, answer: Answer) -> None:
        self.answers.setdefault(row, {})[who] = answer
        self.recent.setdefault(who, {})[row] = None
        self.by[who] += 1
        self.skips[who] += answer.code == SKIP

    def _take(self, row: int, who: str) -> Answer:
        answer = self.answers[row].pop(who)
        self.recent[who].pop(row)
        self.by[who] -= 1
        self.skips[who] -= answer.code == SKIP
        return answer

    def places(self, row: int) -> int:
        """How many people are asked about a row."""
        return self.config.overlap + (row in self.again)

    def _settle_all(self, answers: dict[tuple[int, str], Answer], sign: int) -> None:
        """Settle rows whose answers were taken away (-1) or given back (1); note who relied on them."""
        labels = [answer for answer in answers.values() if answer.code != SKIP]
        self.stale = self.stale or bool(labels)
        for certificate in self.certificates:
            relied = sum(answer.at <= certificate["at"] for answer in labels)
            certificate["reopened"] = certificate.get("reopened", 0) - sign * relied
        for row in {row for row, _ in answers}:
            self._settle(row)

    def _settle(self, row: int) -> None:
        entry = self.log.entries[self.log.position[row]]
        codes = [answer.code for answer in self.answers.get(row, {}).values()]
        state, label = verdict(codes, self.decided.get(row), self.places(row))
        if (state, label) != (entry.state, entry.label):
            self.answered += (state != ASKED) - (entry.state != ASKED)
            skips = (state == SKIPPED) - (entry.state == SKIPPED)
            self.skipped += skips
            entry.state, entry.label = state, label
            self.log.version += 1
            if entry.component == AUDIT:
                self._count_audit(-skips)
                if self.audit is not None:
                    self.audit.settle(entry)

    def _count_audit(self, rows: int) -> None:
        self.audited += rows
        if self.audit is not None:
            self.audit.drawn += rows

    @property
    def undrawn(self) -> int:
        """Rows that may still be drawn: for the audit while there is one, else within the budget."""
        drawn = len(self.log.entries)
        left = self.config.budget - (drawn - self.skipped - self.audited)
        if self.audit is not None:
            left = self.audit.left
        elif self.stop_reason is not None:
            left = 0
        return max(min(left, self.config.rows - drawn), 0)

    @property
    def stop_reason(self) -> str | None:
        """Why the study's rule ends it before its budget; None while it does not."""
        rule = self.config.learner.stopping
        rule = make_rule(rule) if isinstance(rule, str) else rule
        return rule.reason_in(self.history) if isinstance(rule, Plateau) else None

    @property
    def budget(self) -> int:
        """Labels to collect in all, those of audits included."""
        planned = 0 if self.audit is None or self.audit.done else self.audit.size - self.audit.drawn
        return self.config.budget + self.audited + planned

    def count(self, state: str) -> int:
        """Count drawn rows in a state ("asked", "labelled", "skipped")."""
        return sum(entry.state == state for entry in self.log.entries)

    def was_told(self, row: int, label: str) -> bool:
        """Whether somebody has given the row this label."""
        return any(self.config.class_name(a.code) == label for a in self.answers.get(row, {}).values())

    def labels_of(self, row: int) -> list[int]:
        """Return the labels that people gave a row, oldest first; skips are left out."""
        return [answer.code for answer in self.answers.get(row, {}).values() if answer.code != SKIP]

    def is_disputed(self, row: int) -> bool:
        """Whether people gave a row different labels, whoever has decided since."""
        return len(set(self.labels_of(row))) > 1

    def is_tied(self, row: int) -> bool:
        """Whether as many people gave one label as the other, and nobody has decided: neither counts."""
        codes = self.labels_of(row)
        return row not in self.decided and 2 * sum(codes) == len(codes) > 0

    def is_waiting(self, row: int) -> bool:
        """Whether somebody asks about a row, or nobody decided it though answers differ or have a note."""
        if any(flag.open for flag in self.flags.of_row(row)):
            return True
        return row not in self.decided and (self.is_noted(row) or self.is_disputed(row))

    def inbox(self) -> list[int]:
        """Return the rows that wait for a decision; people also ask about known rows, which are not drawn."""
        return [row for row in {*self.answers, *self.flags.rows} if self.is_waiting(row)]

    def is_noted(self, row: int) -> bool:
        """Whether somebody gave a row a label and a note; that of a skip says why it was skipped."""
        return any(answer.note and answer.code != SKIP for answer in self.answers.get(row, {}).values())

    def active_since(self, at: str) -> int:
        """Count the people who have answered at this time or later."""
        return sum(last >= at for last in self.seen.values())

    def answers_since(self, at: str) -> int:
        """Count the answers given at this time or later."""
        count = 0
        for who, rows in self.recent.items():
            for row in reversed(rows):
                if self.answers[row][who].at < at:
                    break
                count += 1
        return count

    def fit_is_due(self) -> bool:
        """Whether a batch of rows, or all that are drawn, were answered or changed since the last fit.

        Never during an audit: its labels must not reach the model they judge. Nor while a certified model
        is kept.
        """
        if self.audit is not None or self.kept is not None or self.answered == self.skipped:
            return False
        if self.stale:
            return True
        news = self.answered - (self.history[-1]["answered"] if self.history else 0)
        # With very many labels a batch changes nothing, and a fit takes long.
        enough = max(self.config.learner.batch_size, (self.answered - self.skipped) // 100)
        changed = bool(self.history) and self.changed > self.history[-1]["seen"]
        return news >= enough or ((news > 0 or changed) and self.answered == len(self.log.entries))

    def agrees(self, queue: Iterable[Slot]) -> bool:
        """Whether a queue has the places and answers that follow from the events, whoever holds a row now.

        Which of two people answered in which slot does not matter.
        """
        places = answers = 0
        for slot in queue:
            place = self.log.position.get(slot.row)
            if place is None or slot.slot >= self.places(slot.row):
                return False
            if (slot.position, slot.batch) != (place, self.log.entries[place].batch):
                return False
            if slot.answer is not None:
                given = self.answers.get(slot.row, {}).get(slot.who or "")
                if given is None or given.code != slot.answer:
                    return False
                answers += 1
            places += 1
        due = len(self.log.entries) * self.config.overlap + len(self.again)
        return places == due and answers == sum(self.by.values())

    def queue(self) -> list[Slot]:
        """Return the queue that follows from the events, without leases."""
        slots = []
        for position, entry in enumerate(self.log.entries):
            given = list(self.answers.get(entry.index, {}).items())
            for number in range(self.places(entry.index)):
                who, code = (given[number][0], given[number][1].code) if number < len(given) else (None, None)
                slots.append(Slot(entry.index, number, position, entry.batch, who, answer=code))
        return slots
