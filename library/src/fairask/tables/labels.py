"""Labels: which value counts as 1, what people wrote, and a labelled table as features, labels and groups."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairask.errors import TableError, suggest
from fairask.tables.arrow import Arrow, frame_table
from fairask.tables.cells import is_number, listed, text_of, texts
from fairask.tables.encoder import Encoder, TextColumns, fit_encoder
from fairask.tables.groups import (
    GroupColumns,
    MissingGroups,
    as_specs,
    folding,
    group_notes,
    groups_by_column,
    protected_columns,
    sort_out_missing,
    spelling_notes,
)
from fairask.tables.leaks import group_leaks

#: A note that begins so is about a guess, and commands print it in bold.
GUESS = "CHECK: "
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

    >>> known_note("label", "yes", "no")
    "label 'yes' counts as positive, 'no' as negative; --positive no turns it round"
    """
    return (
        f"{kind} {positive!r} counts as positive, {negative!r} as negative; "
        f"--positive {_quoted(negative)} turns it round"
    )


def say_which(values: Sequence[str]) -> str:
    """Return the remedy where nobody has said which of the values count as 1.

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
            f"{GUESS}label {positive!r} is taken as positive and {negative!r} as negative, by the alphabet "
            f"alone; if {negative!r} is the good outcome, give --positive {_quoted(negative)}"
        )
    return tuple(cases[positive.casefold()])


def _quoted(value: str) -> str:
    return shlex.quote(value[:40])


def _same_value(label: str, values: Sequence[str], given: str) -> str:
    """Return the value that was named, whatever its case and blanks and however its number is written."""
    given = text_of(given) or given  # as the cells were read
    for value in values:
        if value == given or value.lower() == given.strip().lower() or _same_number(value, given):
            return value
    shown = suggest(given, values) if len(values) <= 20 else f"values: {listed(values)}"
    raise TableError(f"--positive {given!r} is not a value of {label!r}", shown[0].upper() + shown[1:])


def _same_number(a: str, b: str) -> bool:
    return is_number(a) and is_number(b) and float(a) == float(b)


#: Wrong labels that a message shows.
_SHOWN = 20


def match_labels(
    labels: Sequence[str], classes: Sequence[str], rows: Sequence[int], file: str = ""
) -> tuple[list[str], list[str]]:
    """Return the class of each label, and notes on labels whose case or blanks were put right.

    Raises TableError with all labels that are not classes, and their rows.

    >>> match_labels(["Good ", "bad"], ["bad", "good"], [4, 7])
    (['good', 'bad'], ["1 label was read without regard to case and blanks: 'Good ' as 'good'"])
    >>> match_labels(["god", "bda"], ["bad", "good"], [4, 7])
    Traceback (most recent call last):
        ...
    fairask.errors.TableError: 2 labels are not classes: row 4 'god', row 7 'bda'; Labels are 'bad',
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
    refuse_labels(wrong, classes, file)
    if not forgiven:
        return found, []
    count = sum(label in forgiven for label in labels)
    pairs = ", ".join(f"{a!r} as {b!r}" for a, b in list(forgiven.items())[:5])
    verb = "label was" if count == 1 else "labels were"
    return found, [f"{count} {verb} read without regard to case and blanks: {pairs}"]


def refuse_labels(wrong: Sequence[tuple[int, str]], classes: Sequence[str], file: str = "") -> None:
    """Raise TableError with all labels that are not classes, if there are any."""
    if not wrong:
        return
    shown = ", ".join(f"row {row} {label[:40]!r}" for row, label in wrong[:_SHOWN])
    more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    verb = "label is not a class" if len(wrong) == 1 else "labels are not classes"
    raise TableError(
        f"{file}{': ' * bool(file)}{len(wrong)} {verb}: {shown}{more}",
        f"Labels are {', '.join(map(repr, classes))}; leave the cell empty if it is not known yet",
    )


def _folded(label: str) -> str:
    return (text_of(label) or "").casefold()


#: Fewest rows for each group and label of a simulation, so that both parts of every split have some.
FEWEST_LABELS = 4


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready for a learner.

    Attributes
    ----------
    X : ndarray of shape (rows, features)
    y : ndarray
        1 where the label is ``positive``.
    groups : ndarray of str
    encoder : Encoder
        How ``X`` was made.
    positive, negative : str
        The label's values in words.
    notes : list of str
        What was done to the table that its owner should know.
    by_column : dict of str to ndarray of str
        Groups by each protected column alone, if there are several.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]
    groups: npt.NDArray[np.str_]
    encoder: Encoder
    positive: str
    negative: str
    notes: list[str]
    by_column: dict[str, npt.NDArray[np.str_]] = field(default_factory=dict)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return self.encoder.feature_names_out


def prepare(
    table: Arrow,
    *,
    label: str,
    protected: str | Sequence[str],
    positive: str | Sequence[str] | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    use_protected: bool = True,
    text: TextColumns | None = None,
    missing_groups: MissingGroups | None = None,
) -> Prepared:
    """Turn a data frame into features, labels and groups.

    Parameters
    ----------
    table : data frame
    label : str
        The column to predict.
    protected : str or sequence of str
        The column whose groups are to be treated alike, or several whose combinations are the groups;
        ``"age:30,50"`` cuts numbers into bands.
    positive : str or sequence of str, optional
        The label's values that count as 1. Needed when there are more than two.
    drop : sequence of str
        Columns to leave out; an entry may hold several, separated by commas.
    keep : sequence of str
        Columns to learn from although they look like identifiers or have too many values; likewise.
    use_protected : bool
        Whether the protected column is a feature; in the paper it is.
    text : TextColumns, optional
        Which columns are free text, besides those that look like it.
    missing_groups : {"drop", "own"}, optional
        Whether rows without a group are left out, or a group of their own (the default).

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"x": [1.0, 2.0] * 8, "g": ["a", "b"] * 8, "y": ["no", "no", "yes", "yes"] * 4}
    >>> prepare(pa.table(columns), label="y", protected="g").notes
    ["label 'yes' counts as positive, 'no' as negative; --positive no turns it round"]
    """
    table = frame_table(table)
    names = _feature_columns(table.column_names, label, protected, drop, use_protected=use_protected)
    specs = as_specs(protected)
    ungrouped = list[str]()
    table = table.filter(sort_out_missing(table, specs, missing_groups, ungrouped)).combine_chunks()
    counts = GroupColumns.counted(table, [*specs, label])
    columns, positives, negative, notes = _label_facts(label, specs, counts, positive)
    answers = texts(table.column(label))
    known = np.array([answer is not None for answer in answers], dtype=bool)
    table = table.filter(known) if not known.all() else table
    encoder = fit_encoder(table, names, text, keep=column_list(keep, table.column_names))
    X = encoder.transform(table)
    groups = np.asarray(np.array(columns.names)[columns.codes(table)])
    leaks = [] if use_protected else group_leaks(X, groups, encoder.feature_names_out)
    return Prepared(
        X=X,
        y=np.array([answer in positives for answer in answers if answer is not None], dtype=np.int64),
        groups=groups,
        encoder=encoder,
        positive=" or ".join(positives),
        negative=negative,
        notes=[*ungrouped, *notes, *encoder.notes(), *leaks],
        by_column=groups_by_column(table, specs),
    )


def column_list(given: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return names of columns of which several may be in one text, separated by commas.

    >>> column_list(["a,b", "c"], ["a", "b", "c"]), column_list(["a,b"], ["a,b"])
    (['a', 'b', 'c'], ['a,b'])
    """
    # A name may hold a comma itself, so the whole is tried first.
    return [name for words in given for name in ([words] if words in names else words.split(","))]


def check_columns(names: Sequence[str], wanted: Sequence[tuple[str, str]]) -> None:
    """Raise TableError for an option that names a column that is not there."""
    for option, name in wanted:
        if name not in names:
            raise TableError(f"--{option}: no column {name!r}", columns_hint(name, names))


def _feature_columns(
    names: Sequence[str],
    label: str,
    protected: str | Sequence[str],
    drop: Sequence[str],
    *,
    use_protected: bool,
) -> list[str]:
    """Return the columns to learn from, or raise TableError for options that do not fit the table.

    >>> _feature_columns(["a", "b", "g", "y"], "y", "g", ["a"], use_protected=False)
    ['b']
    """
    drop = column_list(drop, names)
    check_columns(names, [("label", label), *(("drop", d) for d in drop)])
    grouped = protected_columns(protected, names)
    if label in grouped:
        raise TableError(f"--label and --protected are both {label!r}", "Name two different columns")
    for name in (label, *grouped):
        if name in drop:
            raise TableError(f"--drop {name!r} is the label or the protected column", "Take it out of --drop")
    left_out = {label, *drop, *(() if use_protected else grouped)}
    return [name for name in names if name not in left_out]


def few_rows_note(groups: Mapping[str, int], labels: int) -> str:
    """Say that a table has too few rows to learn from, or for so many labels; nothing if it has enough.

    >>> few_rows_note({"f": 1, "m": 1}, 250)
    "group 'f' has 1 row, too few to learn anything; 8 or more are needed, some with each label"
    >>> few_rows_note({"f": 20, "m": 20}, 250)
    'the table has 40 rows for 250 labels; if all are labelled, none is chosen and none left to audit'
    >>> few_rows_note({"f": 200, "m": 200}, 250)
    ''
    """
    name, rows, total = min(groups, key=lambda one: groups[one]), min(groups.values()), sum(groups.values())
    if rows < (least := 2 * FEWEST_LABELS):
        many = f"{rows} row{'s' * (rows > 1)}"
        return (
            f"group {name!r} has {many}, too few to learn anything; {least} or more are needed, some with "
            "each label"
        )
    if total <= labels:
        return (
            f"the table has {total:,} rows for {labels:,} labels; if all are labelled, none is "
            "chosen and none left to audit"
        )
    return ""


def columns_hint(name: str, known: Sequence[str]) -> str:
    """Return the nearest name, and the first columns."""
    hint = suggest(name, known)
    near = "D" + hint[1:] + " " if hint.startswith("did") else ""
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"{near}Columns: {', '.join(known[:12])}{more}"


def _label_facts(
    label: str,
    protected: str | Sequence[str],
    counts: Mapping[Hashable, int],
    positive: str | Sequence[str] | None,
) -> tuple[GroupColumns, tuple[str, ...], str, list[str]]:
    """Return the groups, the values that count as 1, the other value in words, and notes.

    The keys of ``counts`` are the values of the protected columns, then the label. A group with too few rows
    of a label is an error.
    """
    specs = as_specs(protected)
    named = ", ".join(specs)
    rows: Counter[Hashable] = Counter()
    labels: Counter[tuple[Hashable, str | None]] = Counter()
    for key, n in counts.items():
        assert isinstance(key, tuple)
        group, answer = key[0] if len(key) == 2 else key[:-1], text_of(key[-1])
        rows[group] += n
        labels[group, answer] += n
    columns, fold = GroupColumns.of(specs, rows), folding(named, rows)
    notes: list[str] = []
    chosen = find_positive(label, [answer for _, answer in labels], positive, notes)
    others = {answer for _, answer in labels if answer is not None} - {*chosen}
    negative = others.pop() if len(others) == 1 else f"not {' or '.join(chosen)}"
    if missing := sum(n for (_, answer), n in labels.items() if answer is None):
        notes.append(f"{missing:,} rows have no value in {label!r} and were left out")
        notes.append(
            f"if {label!r} is known because rows were accepted, what is learned and measured is about "
            "accepted rows only"
        )
    notes += spelling_notes(named, rows)
    notes += group_notes(named, dict(zip(columns.values, columns.rows, strict=True)))
    tally: Counter[tuple[Hashable, bool]] = Counter()
    for (group, answer), n in labels.items():
        if answer is not None:
            tally[fold(group), answer in chosen] += n
    said = " or ".join(map(repr, chosen))
    for group, name in zip(columns.values, columns.names, strict=True):
        if not tally[group, False] + tally[group, True]:
            raise TableError(
                f"group {name!r} of {named!r} has no labelled rows",
                f"Label some of them, or leave the group out of the file (column {label!r})",
            )
        for is_positive, what in ((True, said), (False, f"other than {said}")):
            if (n := tally[group, is_positive]) < FEWEST_LABELS:
                raise TableError(
                    f"group {name!r} of {named!r} has {n} row{'s' * (n != 1)} with label {what}",
                    f"{FEWEST_LABELS} or more are needed, to train and to test: merge groups or add rows",
                )
    return columns, chosen, negative, notes
