"""Which value of a label counts as 1: the one named, the good one of a well-known pair, or a guess."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fairask.errors import suggest
from fairask.tables.encode import listed
from fairask.tables.errors import TableError
from fairask.tables.values import is_number

#: A note that begins so is about a guess, and commands print it in bold.
CHECK = "CHECK: "
#: Well-known pairs of answers, the negative one first. "not x" and "no x" are the negatives of every x.
KNOWN_PAIRS = frozenset(
    {
        ("no", "yes"), ("n", "y"), ("nein", "ja"), ("non", "oui"), ("false", "true"), ("f", "t"),
        ("0", "1"), ("-1", "1"), ("negative", "positive"), ("neg", "pos"), ("-", "+"),
        ("bad", "good"), ("failed", "passed"), ("fail", "pass"), ("failure", "success"),
        ("rejected", "approved"), ("rejected", "accepted"), ("denied", "approved"), ("denied", "granted"),
        ("declined", "approved"), ("declined", "accepted"), ("refused", "accepted"),
        ("reject", "accept"), ("reject", "approve"), ("deny", "approve"), ("deny", "grant"),
        ("default", "paid"), ("default", "repaid"), ("defaulted", "paid"), ("defaulted", "repaid"),
        ("unpaid", "paid"), ("late", "paid"), ("charged off", "fully paid"),
        ("<=50k", ">50k"), ("not hired", "hired"), ("unqualified", "qualified"),
    }
)  # fmt: skip


def known_positive(values: Sequence[str]) -> str | None:
    """Return the positive one of two values that are a well-known pair; None for any others.

    Examples
    --------
    >>> known_positive(["Approved", "rejected"]), known_positive(["not rude", "rude"])
    ('Approved', 'rude')
    >>> print(known_positive(["red", "green"]))
    None
    """
    if len(values) != 2:
        return None
    for negative, positive in (tuple(values), tuple(values)[::-1]):
        a, b = (" ".join(value.replace("_", " ").split()).casefold() for value in (negative, positive))
        if (a, b) in KNOWN_PAIRS or a in (f"not {b}", f"no {b}", f"non {b}", f"non-{b}"):
            return positive
    return None


def known_note(kind: str, positive: str, negative: str) -> str:
    """Return what owners should know of a well-known pair; ``kind`` is what the values are.

    Examples
    --------
    >>> known_note("label", "yes", "no")
    "label 'yes' counts as positive, 'no' as negative; --positive no turns it round"
    """
    return (
        f"{kind} {positive!r} counts as positive, {negative!r} as negative; "
        f"--positive {_quoted(negative)} turns it round"
    )


def say_which(values: Sequence[str]) -> str:
    """Return the remedy where nobody has said which of the values count as 1.

    Examples
    --------
    >>> say_which(["blue", "light green"])
    "Say which count as 1, e.g. --positive 'light green' (repeat it for several)"
    """
    return f"Say which count as 1, e.g. --positive {_quoted(values[-1])} (repeat it for several)"


def find_positive(
    label: str,
    answers: Sequence[str | None],
    given: str | Sequence[str] | None,
    notes: list[str],
    *,
    guess: bool = True,
) -> tuple[str, ...]:
    """Return the label's values that count as 1; ``notes`` get what its owner should know.

    Of two values that are a well-known pair, the good one is taken. Of two others the later one in the
    alphabet is a guess, unless ``guess`` is False: a certificate rests on no guess.

    Examples
    --------
    >>> find_positive("paid", ["no", "Yes"], "yes", [])
    ('Yes',)
    >>> find_positive("grade", ["failed", "passed", "distinction"], ["passed", "distinction"], [])
    ('distinction', 'passed')
    >>> find_positive("decision", ["approved", "rejected"], None, notes := [])
    ('approved',)
    >>> notes
    ["label 'approved' counts as positive, 'rejected' as negative; --positive rejected turns it round"]
    """
    values = sorted({answer for answer in answers if answer is not None})
    cases: dict[str, list[str]] = {}
    for value in values:
        cases.setdefault(value.casefold(), []).append(value)
    if len(cases) < 2:
        what = f"one value only: {values[0]!r}" if values else "no values"
        raise TableError(f"label column {label!r} has {what}", "Both classes are needed to learn from")
    several = [same for same in cases.values() if len(same) > 1]
    if several:
        shown = ", ".join(" and ".join(map(repr, same)) for same in several[:4])
        notes.append(f"values of {label!r} that differ in case only are one: {shown}")
    wanted = [] if given is None else [given] if isinstance(given, str) else list(given)
    if wanted:
        meant = {_same_value(label, values, one).casefold() for one in wanted}
        chosen = tuple(value for value in values if value.casefold() in meant)
        others = [value for value in values if value not in chosen]
        if not others:
            raise TableError(
                f"--positive names all values of {label!r}", "Leave out those that count as negative"
            )
        if len(cases) > 2:
            named = " or ".join(map(repr, chosen))
            notes.append(f"label values other than {named} count as negative: {listed(others)}")
        return chosen
    spelled = [same[-1] for same in cases.values()]
    known = known_positive(spelled)
    if len(cases) > 2 or not (known or guess):
        if all(is_number(value) for value in values) and len(values) > 20:
            raise TableError(
                f"label column {label!r} is a number with {len(values):,} values",
                "A label says yes or no: make a column of it, such as whether the number is above a bound",
            )
        raise TableError(
            f"label column {label!r} has {len(values):,} values: {listed(values)}",
            say_which(values),
        )
    positive = known or spelled[1]
    negative = next(value for value in spelled if value != positive)
    if known:
        notes.append(known_note("label", positive, negative))
    else:
        notes.append(
            f"{CHECK}label {positive!r} is taken as positive and {negative!r} as negative, by the alphabet "
            f"alone; if {negative!r} is the good outcome, give --positive {_quoted(negative)}"
        )
    return tuple(cases[positive.casefold()])


def _quoted(value: str) -> str:
    return shlex.quote(value[:40])


def _same_value(label: str, values: Sequence[str], given: str) -> str:
    """Return the value that was named, whatever its case and however its number is written."""
    for value in values:
        if value == given or value.lower() == given.strip().lower() or _same_number(value, given):
            return value
    shown = suggest(given, values) if len(values) <= 20 else f"values: {listed(values)}"
    raise TableError(f"--positive {given!r} is not a value of {label!r}", shown[0].upper() + shown[1:])


def _same_number(a: str, b: str) -> bool:
    return is_number(a) and is_number(b) and float(a) == float(b)
