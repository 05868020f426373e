"""The events of a study: one small class per kind, how each is stored as JSON, and how times are written.

Events are the only truth of a study; ``State`` follows from them by replay. A field that
is None is not written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar, Self

from fairask_studio.errors import StudyError

#: Code of the answer "cannot be labelled"; other codes are positions of classes.
SKIP = -1
#: A JSON object.
Document = dict[str, Any]
#: A cell of the pool as JSON holds it.
Cell = str | int | float | bool | None


class Happening:
    """What happened, as a frozen dataclass whose fields are plain values."""

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type[Happening]]] = {}  #: the kinds of this module, by name

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls) and cls.__module__ == __name__:
            cls.kinds[cls.kind] = cls

    def to_data(self) -> Document:
        """Return the fields as a JSON object."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def about(cls, data: Document) -> int | None:
        """Return the row that the event is about, by which the log finds it; None if it is not about one."""
        return data.get("row")

    @classmethod
    def from_data(cls, data: Document) -> Self:
        """Rebuild from :meth:`to_data`; fields of later versions are left out."""
        known = cls.__annotations__
        return cls(**{name: value for name, value in data.items() if name in known})


@dataclass(frozen=True)
class StudyCreated(Happening):
    """The study was made, with these settings."""

    kind = "created"
    config: Document


@dataclass(frozen=True)
class StudyReworded(Happening):
    """The question, words for columns, guidelines, reasons to skip or the public address changed."""

    kind = "configured"
    question: str | None = None
    columns: dict[str, Document] | None = None
    guidelines: str | None = None
    skip_reasons: list[str] | None = None
    address: str | None = None


@dataclass(frozen=True)
class RowsDrawn(Happening):
    """A batch was drawn: its rows, and how likely each was to be drawn."""

    kind = "proposed"
    batch: int
    rows: list[int]
    propensities: list[float | None]
    components: list[str]
    pool_sizes: list[int]
    warnings: list[str]
    look: int | None = None  #: of the audit that the rows were drawn for
    seen: int | None = None  #: the last event that the drawing knew: answers may come while it is computed

    @classmethod
    def about(cls, data: Document) -> int | None:
        """Return the batch: the log finds a drawing by it."""
        return int(data["batch"])


@dataclass(frozen=True)
class RowLabelled(Happening):
    """A person gave a row a label, by the position of its class."""

    kind = "labelled"
    row: int
    label: int
    note: str | None = None
    origin: Document | None = None  #: of an answer given in another tool: link, ref, version


@dataclass(frozen=True)
class RowSkipped(Happening):
    """A person could not label a row."""

    kind = "skipped"
    row: int
    note: str | None = None
    origin: Document | None = None
    reason: str | None = None  #: why, in the study's words or the person's own


@dataclass(frozen=True)
class AnswerWithdrawn(Happening):
    """A person took back the answer to a row."""

    kind = "withdrawn"
    row: int
    origin: Document | None = None


@dataclass(frozen=True)
class AnswersReopened(Happening):
    """An owner took answers away, and their rows are asked for again; what was selected, and what it was."""

    kind = "reopened"
    answers: list[tuple[int, str]]  #: row and person
    name: str | None = None
    since: str | None = None
    until: str | None = None
    skips: bool | None = None


@dataclass(frozen=True)
class AnswersRestored(Happening):
    """Answers that event ``event`` took away are given back."""

    kind = "restored"
    event: int
    answers: list[tuple[int, str]]


@dataclass(frozen=True)
class OpinionsAsked(Happening):
    """An owner asks other people about rows again: rows that might be asked, how likely, and which are."""

    kind = "opinions"
    rows: list[int]
    propensities: list[float]
    asked: list[int]


@dataclass(frozen=True)
class LimitsChanged(Happening):
    """Limits per person, or how gold rows are mixed in, changed; None keeps one as it was, 0 is none."""

    kind = "limits"
    most_skips: int | None = None
    most_per_minute: int | None = None
    gold_every: int | None = None
    gold_least: int | None = None


@dataclass(frozen=True)
class BudgetRaised(Happening):
    """More labels may be spent than before."""

    kind = "budget"
    budget: int


@dataclass(frozen=True)
class LimitReached(Happening):
    """A warning to the owners: a person skips more, answers faster or is wrong more often than allowed."""

    kind = "warned"
    what: str  #: "skips", "pace" or "gold"
    name: str
    count: int


@dataclass(frozen=True)
class RowCorrected(Happening):
    """A label was replaced: for everybody if it ``decides``, else this person's own answer."""

    kind = "corrected"
    row: int
    label: int
    decides: bool
    origin: Document | None = None


@dataclass(frozen=True)
class RowFlagged(Happening):
    """A person asks the owners about a row; the event's number is the flag's."""

    kind = "flagged"
    row: int
    text: str


@dataclass(frozen=True)
class FlagAnswered(Happening):
    """Somebody wrote into the thread of a flag."""

    kind = "flag answered"
    flag: int
    row: int
    text: str


@dataclass(frozen=True)
class FlagResolved(Happening):
    """Somebody resolved a flag."""

    kind = "flag resolved"
    flag: int
    row: int
    text: str | None = None


@dataclass(frozen=True)
class KnownMarked(Happening):
    """Rows were marked with their answers; see :mod:`fairask_studio.gold`."""

    kind = "known"
    rows: list[int]
    labels: list[int]
    uses: list[str]  #: "example", "practice" or "gold"
    reasons: list[str]  #: why the answer is right


@dataclass(frozen=True)
class KnownRemoved(Happening):
    """Rows are no longer marked."""

    kind = "known removed"
    rows: list[int]


@dataclass(frozen=True)
class KnownAnswered(Happening):
    """A person answered a row whose answer is known, or took that back; it is no label."""

    kind = "checked"
    row: int
    label: int | None  #: None: taken back
    use: str  #: what the row was for
    number: int = 0  #: of a gold row: the place among the person's answers that it stands for
    note: str | None = None

    @classmethod
    def from_data(cls, data: Document) -> Self:
        """Rebuild; an answer that was taken back is written without a label."""
        return super().from_data({"label": None, **data})


@dataclass(frozen=True)
class StopRuleChanged(Happening):
    """The rule that ends the study before its budget was replaced; an empty one is none."""

    kind = "stopping"
    rule: str


@dataclass(frozen=True)
class AuditChanged(Happening):
    """An audit of at most ``size`` labels began; size 0 ends the audit under way."""

    kind = "audit"
    size: int
    audit: Document | None = None  #: the audit at its beginning, whole


@dataclass(frozen=True)
class AccessNoted(Happening):
    """Somebody signed in or was refused, people changed, or a file left the studio."""

    kind = "access"
    what: str
    name: str  #: the person or file it was about
    address: str | None = None


@dataclass(frozen=True)
class ToolLinked(Happening):
    """A tool where people label was linked to the study, or its link changed."""

    kind = "linked"
    link: str  #: the name of the link
    tool: str  #: "labelstudio" or "webhook"
    url: str
    token: str  #: sha256 of the token with which answers come in
    project: int | None = None
    options: Document | None = None
    people: dict[str, str] | None = None  #: names of people by the tool's own number


@dataclass(frozen=True)
class RowsSent(Happening):
    """Drawn rows were sent to a tool."""

    kind = "sent"
    link: str
    rows: list[int]


@dataclass(frozen=True)
class AnswerRefused(Happening):
    """An answer from a tool was not taken; ``reason`` says why."""

    kind = "refused"
    origin: Document
    reason: str
    row: int | None = None
    label: str | None = None
    full: bool | None = None  #: whether the row had all its answers


@dataclass(frozen=True)
class FitAsked(Happening):
    """The owner asked for another fit: the certified model is no longer kept as the study's model."""

    kind = "fit asked"


@dataclass(frozen=True)
class _WholeDocument(Happening):
    document: Document

    @classmethod
    def about(cls, data: Document) -> int | None:
        return None

    def to_data(self) -> Document:
        return self.document

    @classmethod
    def from_data(cls, data: Document) -> Self:
        return cls(data)


class ModelFitted(_WholeDocument):
    """A model was fitted on the labels so far: its history entry, estimates and digest."""

    kind = "fitted"


class CertificateIssued(_WholeDocument):
    """A certificate was made, as ``Certificate.to_dict()`` gives it, with the model that it is about."""

    kind = "certified"


class ModelWatched(_WholeDocument):
    """A month of the certified model was added or labelled: its watch whole, and where the model stands."""

    kind = "watched"


@dataclass(frozen=True)
class Event:
    """One entry of the log, as it is stored."""

    id: int
    at: str
    who: str
    kind: str
    data: Document

    @property
    def about(self) -> int | None:
        """The row it is about or, for a drawing, its batch."""
        known = Happening.kinds.get(self.kind)
        return None if known is None else known.about(self.data)

    @property
    def happening(self) -> Happening:
        """What happened; StudyError for a kind that only a later version knows."""
        known = Happening.kinds.get(self.kind)
        if known is None:
            raise StudyError(
                f"event {self.id} is of kind {self.kind!r}, which this version does not know; a newer "
                "version wrote it: upgrade with pip install -U fairask"
            )
        return known.from_data(self.data)


def now(shift: float = 0.0) -> str:
    """Return the time in UTC, as the log writes it, ``shift`` seconds from now."""
    return _written(datetime.now(UTC) + timedelta(seconds=shift))


def at_second(seconds: float) -> str:
    """Return a time given in seconds since 1970 as the log writes it.

    Examples
    --------
    >>> at_second(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    return _written(datetime.fromtimestamp(seconds, UTC))


def end_of_day(day: date) -> str:
    """Return the end of a day in UTC, as the log writes it.

    Examples
    --------
    >>> end_of_day(date(2026, 11, 15))
    '2026-11-15T23:59:59.999Z'
    """
    return f"{day.isoformat()}T23:59:59.999Z"


def utc(text: str) -> str:
    """Return a time that a person wrote as the log writes it; UTC, unless the text has an offset.

    Examples
    --------
    >>> utc("2026-11-15 14:00"), utc("2026-11-15T14:00+01:00")
    ('2026-11-15T14:00:00.000Z', '2026-11-15T13:00:00.000Z')
    """
    try:
        moment = datetime.fromisoformat(text)
        return _written(moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC))
    except (ValueError, OverflowError) as error:  # an offset can lead out of all calendars
        raise StudyError(f"{text!r} is not a time", "Write it as 2026-11-15 or 2026-11-15 14:30") from error


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
