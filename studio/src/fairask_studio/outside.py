"""What the log says of tools outside the study: links, rows that were sent, answers that came back."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field

from fairask_studio import events as happened
from fairask_studio.events import SKIP, Document, Event, Happening


def link_of(origin: Document | None) -> str:
    """Return the link that an answer came by; empty if it was given to the study itself.

    Examples
    --------
    >>> link_of({"link": "labelstudio", "ref": "7", "version": 1}), link_of(None)
    ('labelstudio', '')
    """
    return "" if origin is None else str(origin["link"])


@dataclass(frozen=True)
class TakenAnswer:
    """The last that was taken of one answer in a tool."""

    row: int
    who: str
    version: int
    code: int  #: -1 for a skip, else the position of the class
    gone: bool = False  #: deleted there, and withdrawn here


@dataclass(frozen=True)
class Refused:
    """An answer that was not taken."""

    link: str
    ref: str
    version: int
    row: int | None
    label: str | None
    who: str
    at: str
    reason: str
    full: bool = False  #: whether the row had all its answers


@dataclass
class Outside:
    """Links, rows that were sent by each, and answers by link and reference."""

    links: dict[str, happened.ToolLinked] = field(default_factory=dict)
    sent: dict[str, set[int]] = field(default_factory=dict)
    taken: dict[tuple[str, str], TakenAnswer] = field(default_factory=dict)
    refused: dict[tuple[str, str], Refused] = field(default_factory=dict)
    noted: int = 0  #: events about tools that are no answers

    def apply(self, event: Event, what: Happening) -> None:
        """Take one event into account."""
        self.noted += isinstance(what, happened.ToolLinked | happened.RowsSent | happened.AnswerRefused)
        match what:
            case happened.ToolLinked():
                self.links[what.link] = what
            case happened.RowsSent(link=link, rows=rows):
                self.sent.setdefault(link, set()).update(rows)
            case happened.AnswerRefused(origin=origin):
                refused = Refused(
                    origin["link"], origin["ref"], origin["version"], what.row, what.label, event.who,
                    event.at, what.reason, bool(what.full),
                )  # fmt: skip
                self.refused[refused.link, refused.ref] = refused
            case happened.RowSkipped(row=row, origin=origin) if origin is not None:
                self._take(origin, TakenAnswer(row, event.who, origin["version"], SKIP))
            case (
                happened.RowLabelled(row=row, label=code, origin=origin)
                | happened.RowCorrected(row=row, label=code, origin=origin)
            ) if origin is not None:
                self._take(origin, TakenAnswer(row, event.who, origin["version"], code))
            case happened.AnswerWithdrawn(row=row, origin=origin):
                if origin is not None:
                    self._take(origin, TakenAnswer(row, event.who, origin["version"], SKIP, gone=True))
                # There is room again for an answer that came when the row was full.
                for key in [key for key, old in self.refused.items() if old.row == row and old.full]:
                    del self.refused[key]

    def _take(self, origin: Document, answer: TakenAnswer) -> None:
        key = (origin["link"], origin["ref"])
        self.taken[key] = answer
        self.refused.pop(key, None)

    def to_data(self) -> Document:
        """Return plain values for a snapshot."""
        return {
            "links": [linked.to_data() for linked in self.links.values()],
            "sent": [[link, sorted(rows)] for link, rows in self.sent.items()],
            "taken": [[*key, *astuple(answer)] for key, answer in self.taken.items()],
            "refused": [astuple(refused) for refused in self.refused.values()],
            "noted": self.noted,
        }

    @classmethod
    def from_data(cls, data: Document) -> Outside:
        """Rebuild from :meth:`to_data`."""
        links = [happened.ToolLinked.from_data(linked) for linked in data["links"]]
        refused = [Refused(*values) for values in data["refused"]]
        return cls(
            {linked.link: linked for linked in links},
            {link: set(rows) for link, rows in data["sent"]},
            {(link, ref): TakenAnswer(*answer) for link, ref, *answer in data["taken"]},
            {(old.link, old.ref): old for old in refused},
            data["noted"],
        )
