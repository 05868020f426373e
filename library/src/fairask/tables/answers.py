"""Labels that people wrote into a sheet: matched with the classes, and all wrong ones named at once."""

from __future__ import annotations

from collections.abc import Sequence

from fairask.tables.errors import TableError
from fairask.tables.values import text_of

#: Wrong labels that a message shows.
_SHOWN = 20


def match_labels(
    labels: Sequence[str], classes: Sequence[str], rows: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Return the class of each label, and notes on labels whose case or blanks were put right.

    Raises TableError with all labels that are not classes, and their rows.

    Examples
    --------
    >>> match_labels(["Good ", "bad"], ["bad", "good"], [4, 7])
    (['good', 'bad'], ["1 label was read without regard to case and blanks: 'Good ' as 'good'"])
    >>> match_labels(["god", "bda"], ["bad", "good"], [4, 7])
    Traceback (most recent call last):
        ...
    fairask.tables.errors.TableError: 2 labels are not classes: row 4 'god', row 7 'bda'; Labels are 'bad',
    'good'; leave the cell empty if it is not known yet
    """
    exact = set(classes)
    folded: dict[str, list[str]] = {}
    for name in classes:
        folded.setdefault(_folded(name), []).append(name)
    found: list[str] = []
    forgiven: dict[str, str] = {}
    wrong: list[tuple[int, str]] = []
    for row, label in zip(rows, labels, strict=True):
        near = [label] if label in exact else folded.get(_folded(label), [])
        if len(near) != 1:
            wrong.append((row, label))
        else:
            found.append(near[0])
            if near[0] != label:
                forgiven[label] = near[0]
    refuse_labels(wrong, classes)
    if not forgiven:
        return found, []
    count = sum(label in forgiven for label in labels)
    pairs = ", ".join(f"{a!r} as {b!r}" for a, b in list(forgiven.items())[:5])
    verb = "label was" if count == 1 else "labels were"
    return found, [f"{count} {verb} read without regard to case and blanks: {pairs}"]


def refuse_labels(wrong: Sequence[tuple[int, str]], classes: Sequence[str]) -> None:
    """Raise TableError with all labels that are not classes, if there are any."""
    if not wrong:
        return
    shown = ", ".join(f"row {row} {label[:40]!r}" for row, label in wrong[:_SHOWN])
    more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    verb = "label is not a class" if len(wrong) == 1 else "labels are not classes"
    raise TableError(
        f"{len(wrong)} {verb}: {shown}{more}",
        f"Labels are {', '.join(map(repr, classes))}; leave the cell empty if it is not known yet",
    )


def _folded(label: str) -> str:
    return (text_of(label) or "").casefold()
