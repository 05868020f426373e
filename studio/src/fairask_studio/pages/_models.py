"""The documents of the API, checked on the way in and out."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fairask_studio.columns import DISPLAYS
from fairask_studio.config import LONGEST_REASON
from fairask_studio.store.people import ROLES

#: Rows are 32-bit numbers in the database.
Row = Annotated[int, Field(ge=0, le=2**31 - 1)]
# No NUL: PostgreSQL stores none.
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Refusal(BaseModel):
    """Why a request was refused."""

    detail: str


class Wanted(_Strict):
    """How many rows to hold."""

    count: Annotated[int, Field(ge=1, le=5)] = 2


class NewAnswer(_Strict):
    """An answer to a row: a class, or null to skip the row."""

    row: Row
    label: Annotated[Text, Field(max_length=60)] | None
    note: Annotated[Text, Field(max_length=2000)] = ""
    reason: Annotated[Text, Field(max_length=LONGEST_REASON)] = ""  #: why the row is skipped


class NewLabel(_Strict):
    """Another class for a row."""

    label: Annotated[Text, Field(max_length=60)]


class CardField(BaseModel):
    """One cell, in words."""

    name: str
    title: str
    unit: str
    value: str
    length: int  #: characters of the whole cell; more than ``value`` has when it was cut
    display: str  #: number, date, text, long, link, image or markdown


class LabelProgress(BaseModel):
    """How many labels there are, for the bar above the card."""

    labels: int
    budget: int
    batch: int
    people: int
    mine: int
    complete: bool


class Card(BaseModel):
    """A row to label."""

    row: int
    fields: list[CardField]
    practice: int = 0  #: of a practice row: how many are left, this one included


class KnownVerdict(BaseModel):
    """What is told after the answer to a practice row."""

    right: bool
    label: str
    why: str


class Saved(LabelProgress):
    """Progress after an answer; after that to a practice row also the right one."""

    practice: KnownVerdict | None = None


class Next(BaseModel):
    """The rows this person holds now."""

    cards: list[Card]
    progress: LabelProgress
    training: bool  #: whether more rows are being drawn
    notice: str  #: why no rows come, in words; empty if all is well
    hold: float = 60.0  #: seconds for which the rows are held
    news: int = 0  #: number of the last event of others in this person's threads about rows
    retry: float = 0.4  #: seconds until it is worth asking again, if there is no row


class GivenAnswer(BaseModel):
    """An answer this person gave."""

    row: int
    label: str | None
    at: str
    note: str


class SignIn(_Strict):
    """A token, or the code of an invitation."""

    token: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    code: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Invitation(_Strict):
    """How long an invitation can be used."""

    hours: Annotated[float, Field(gt=0, le=720)] = 72.0


class ColumnWords(_Strict):
    """How a column is shown."""

    title: Annotated[Text, Field(max_length=120)] = ""
    unit: Annotated[Text, Field(max_length=40)] = ""
    values: dict[Annotated[Text, Field(max_length=200)], Annotated[Text, Field(max_length=200)]] = {}
    display: Annotated[str, Field(pattern=f"^({'|'.join(DISPLAYS)})?$")] = ""


class Settings(_Strict):
    """Words of the study, and limits on each person, that may change."""

    question: Annotated[Text, Field(min_length=1, max_length=500)] | None = None
    columns: dict[Annotated[Text, Field(max_length=500)], ColumnWords] = {}
    guidelines: Annotated[Text, Field(max_length=50_000)] | None = None
    skip_reasons: list[Annotated[Text, Field(max_length=LONGEST_REASON)]] | None = None
    most_skips: Row | None = None
    most_per_minute: Row | None = None
    gold_every: Row | None = None
    gold_least: Row | None = None


class NewPerson(_Strict):
    """A person to add."""

    name: Annotated[Text, Field(min_length=1, max_length=64)]
    role: Annotated[str, Field(pattern=f"^({'|'.join(ROLES)})$")] = "annotator"


class NewProgram(_Strict):
    """A program to give a token to."""

    name: Annotated[Text, Field(min_length=1, max_length=64)]
    role: Annotated[str, Field(pattern=f"^({'|'.join(ROLES)})$")] = "annotator"
    until: date  #: the last day on which the token is valid, in UTC


class AuditSize(_Strict):
    """How many labels an audit asks for."""

    labels: Annotated[int, Field(ge=1, le=2**31 - 1)]


class Pause(_Strict):
    """Whether the demo's annotator is paused."""

    paused: bool


class ToolAnswer(_Strict):
    """One person's answer to a row, given in another tool."""

    id: Annotated[Text, Field(min_length=1, max_length=200)]  #: the tool's number of the answer
    version: Annotated[int, Field(ge=0, le=2**62)] = 0  #: grows when the answer changes
    row: Row
    check: Annotated[Text, Field(max_length=40)] = ""
    who: Annotated[Text, Field(max_length=200)] = ""
    label: Annotated[Text, Field(max_length=60)] | None = None
    note: Annotated[Text, Field(max_length=2000)] = ""
    deleted: bool = False


class OutsideAnswers(_Strict):
    """Answers of another tool."""

    answers: Annotated[list[ToolAnswer], Field(max_length=1000)]
