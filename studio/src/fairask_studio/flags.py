"""Flags: a person asks the owners about a row, owners and reviewers answer, and somebody resolves it.

A flag is one person's thread about one row. Two annotators of the same row have threads of their own, so that
neither is swayed by what the other wrote. All of it is events.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fairask_studio import events as happened
from fairask_studio.errors import StudyError
from fairask_studio.events import Document, Event, Happening

_LONGEST = 2000


@dataclass(frozen=True)
class Comment:
    """What somebody wrote in a thread."""

    event: int
    at: str
    who: str
    text: str


@dataclass(frozen=True)
class Flag:
    """One person's thread about a row; its number is that of the event that began it."""

    id: int
    row: int
    who: str
    comments: tuple[Comment, ...]
    resolved_by: str = ""  #: empty while it is open

    @property
    def open(self) -> bool:
        """Whether it is not resolved."""
        return not self.resolved_by

    @property
    def waits(self) -> bool:
        """Whether the person who flagged waits for an answer."""
        return self.open and self.comments[-1].who == self.who

    def to_dict(self) -> Document:
        """Return plain values, for pages."""
        return {
            "id": self.id,
            "row": self.row,
            "who": self.who,
            "open": self.open,
            "waits": self.waits,
            "resolved_by": self.resolved_by,
            "comments": [{"at": c.at, "who": c.who, "text": c.text} for c in self.comments],
        }


@dataclass
class Flags:
    """All flags of a study, by number."""

    known: dict[int, Flag] = field(default_factory=dict)
    rows: dict[int, list[int]] = field(default_factory=dict)  #: numbers of flags by row

    def apply(self, event: Event, what: Happening) -> None:
        """Take one event into account."""
        match what:
            case happened.RowFlagged(row=row, text=text):
                said = Comment(event.id, event.at, event.who, text)
                self.known[event.id] = Flag(event.id, row, event.who, (said,))
                self.rows.setdefault(row, []).append(event.id)
            case happened.FlagAnswered(flag=number, text=text):
                flag = self._with(number, Comment(event.id, event.at, event.who, text))
                # Whoever flagged a row and writes again is not content with how it was resolved.
                again = event.who == flag.who
                self.known[number] = replace(flag, resolved_by="") if again else flag
            case happened.FlagResolved(flag=number, text=text):
                said = Comment(event.id, event.at, event.who, text or "")
                flag = self._with(number, said) if text else self.known[number]
                self.known[number] = replace(flag, resolved_by=event.who)

    def _with(self, number: int, said: Comment) -> Flag:
        flag = self.known[number]
        return replace(flag, comments=(*flag.comments, said))

    def of_row(self, row: int) -> list[Flag]:
        """Return the flags of a row, oldest first."""
        return [self.known[number] for number in self.rows.get(row, ())]

    def of_person(self, who: str) -> list[Flag]:
        """Return the flags of a person, newest first."""
        return [flag for flag in reversed(self.known.values()) if flag.who == who]

    def news(self, who: str) -> int:
        """Return the number of the last event of somebody else in a person's threads; 0 without any."""
        return max((c.event for f in self.of_person(who) for c in f.comments if c.who != who), default=0)


def check_comment(text: str, *, empty: bool = False) -> str:
    """Return what somebody writes into a thread, without blanks around it, if it can be written."""
    text = text.strip()
    if not text and not empty:
        raise StudyError("the flag or its answer has no words", "Write a sentence")
    if len(text) > _LONGEST:
        raise StudyError(f"a comment has {len(text):,} characters; {_LONGEST:,} at most")
    return text
