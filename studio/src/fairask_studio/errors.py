"""What can go wrong with a study."""

from __future__ import annotations

import re

import pyarrow as pa

from fairask.errors import UserError

#: What reading damaged data raises.
SENSELESS = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, AssertionError, EOFError,
    ArithmeticError, MemoryError, RecursionError, pa.ArrowException,
)  # fmt: skip
#: What pages say in place of options that only the command line has.
_ON_PAGES = (
    (r"; --(?:delimiter|encoding) says [\w ]+", ""),
    (r"; --(?:keep|text) .*", ""),
    (r"Say which: --sheet .*", "Save the one that you mean as a table of its own"),
    (r" \(--(?:missing-groups|protected) [^)]*\)", ""),
    (r"--missing-groups drop leaves (?:them|these rows) out", "Leave these rows out of the table"),
)
_NOTHING_CHANGED = "Nothing was changed; see --help for what is accepted"


class StudyError(UserError):
    """The study cannot be made, opened or changed as asked.

    Examples
    --------
    >>> error = StudyError("no column 'gender'; did you mean 'genre'?")
    >>> error.what, error.remedy
    ("no column 'gender'", "did you mean 'genre'?")
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        said, _, rest = what.partition("; ")
        super().__init__(said, remedy or rest or _NOTHING_CHANGED)

    def __reduce__(self) -> tuple[type[StudyError], tuple[str, str]]:
        return type(self), (self.what, self.remedy)  # to another process, and back

    def __str__(self) -> str:
        return self.what if self.remedy == _NOTHING_CHANGED else super().__str__()


def on_page(words: str) -> str:
    """Return words without options of the command line that a page does not have.

    >>> on_page("t.csv was read as Windows-1252; --encoding says otherwise")
    't.csv was read as Windows-1252'
    >>> on_page("Leave these rows out (--missing-groups drop); from 30 rows on they are a group")
    'Leave these rows out; from 30 rows on they are a group'
    """
    for option, instead in _ON_PAGES:
        words = re.sub(option, instead, words, flags=re.DOTALL)
    return words


def in_sentences(error: UserError) -> str:
    """Say what is wrong and what to do about it, as sentences of a page.

    Examples
    --------
    >>> in_sentences(StudyError("x.csv is empty", "Give a file with rows"))
    'x.csv is empty. Give a file with rows.'
    >>> in_sentences(StudyError("no column 'jobb'", "did you mean 'job'?"))
    "no column 'jobb'. Did you mean 'job'?"
    >>> in_sentences(StudyError("x.csv has one column", "Separate by commas; --delimiter says another sign"))
    'x.csv has one column. Separate by commas.'
    >>> in_sentences(StudyError("x.xlsx has 2 sheets: 'a', 'b'", "Say which: --sheet a"))
    "x.xlsx has 2 sheets: 'a', 'b'. Save the one that you mean as a table of its own."
    """
    if error.remedy == _NOTHING_CHANGED:
        return error.what
    remedy = on_page(error.remedy)
    end = "" if remedy.endswith(("?", ".")) else "."
    return f"{error.what}. {remedy[:1].upper()}{remedy[1:]}{end}"


class NotYoursError(StudyError):
    """This person may not answer the row: never handed out, lease ended, or answered in full."""


class UnreachableError(StudyError):
    """The database cannot be reached now; the same may be tried again later."""


def senseless(error: BaseException) -> StudyError:
    """Return what to say of data that makes no sense."""
    return StudyError(
        f"the study is damaged: {type(error).__name__}: {str(error)[:200]}",
        "Look with fairask verify, or restore a backup",
    )
