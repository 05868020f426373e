"""People who err: what their answers and gold rows say of each person's errors, and of the labels they make.

Each person has a probability of a wrong answer by group and right label. It is learned from rows that several
people answered and from gold rows, whose right label is known (Dawid and Skene 1979): the right labels follow
from the errors, the errors from the right labels, in turns. A person with few answers is taken to err like
the crew in that group and label.

Rows that several people answered cannot show an error that all of them share. Only gold rows do, so that
what an audit is told of wrong labels (:meth:`People.label_errors`) rests on gold rows alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import combinations
from math import comb
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, logit
from scipy.stats import binom, hypergeom, norm, poisson, rankdata

from fairask.checks import check_count, check_lengths
from fairask.errors import UserError
from fairask.metrics import Bool, Float, Int, is_gap
from fairask.report.words import suspicion_sentence

__all__ = ["LabelError", "People", "PersonError", "Suspicion"]

#: Answers that the crew's rate is worth beside a person's own.
_CREW = 10.0
#: Rounds of Dawid and Skene's algorithm at most, and the change of a probability that ends them.
_ROUNDS, _STILL = 200, 1e-6
#: Rounds in which a person's errors on rows that are not gold are found.
_OWN = 20
#: A suspicion errs with this probability, over all people and all cells of one kind; and the difference to
#: the others, or to other rows, below which nobody is named.
_LEVEL, _MARGIN = 0.01, 0.05
#: Answers below which nothing is said of a change over time.
_FEWEST = 20
#: Share of second opinions that is spread evenly over all rows.
_UNIFORM = 0.2
#: Gold rows of a group and label below which nothing is said of wrong labels.
FEWEST_GOLD = 5
#: The largest probability of a wrong label that an audit allows for: with more, labels say hardly anything.
MOST_WRONG = 0.4
_EPS = 1e-9


class TooFewGold(UserError):
    """Gold rows are too few, or too few people answered them, to say how often labels are wrong."""


@dataclass(frozen=True)
class LabelError:
    """How often labels of a group are wrong, by the right label: 0, then 1.

    Attributes
    ----------
    wrong, doubt : tuple of float
        The probability of a wrong label, and its standard error.
    rows : tuple of int
        Gold rows that say so.
    """

    wrong: tuple[float, float]
    doubt: tuple[float, float]
    rows: tuple[int, int]


@dataclass(frozen=True)
class PersonError:
    """How often a person errs in rows of a group whose right label is ``label``, with a 95 % interval.

    ``others`` is the rate of all others there, and ``answers`` the number of answers to such rows, as far as
    their right label is known.
    """

    person: str
    group: object
    label: int
    wrong: float
    low: float
    high: float
    others: float
    answers: float


@dataclass(frozen=True)
class Suspicion:
    """Something that an owner should look at.

    Attributes
    ----------
    kind : {"harsh", "random", "copies", "leaked", "drift"}
        A person errs more than others; in all groups and labels; two people give the same wrong answers;
        gold rows are answered better than others; errors change over time, which is nobody's fault.
    people : tuple of str
    words : str
        What was found, and what to do.
    rows : tuple
        Rows to ask again: those whose answers by these people are probably wrong, the most probable first;
        then those of one who errs more than others that nobody else answered. Gold rows are not among them.
    """

    kind: str
    people: tuple[str, ...]
    words: str
    rows: tuple[Hashable, ...] = ()


class People:
    """What is known of people who answer 0 or 1, and of the right labels; made by :meth:`from_answers`.

    Attributes
    ----------
    names : list of str
        The people.
    groups : list
        The groups.
    rows : list
        The rows, as they were given.
    positive : ndarray of shape (rows,)
        Probability that the right label is 1, by all answers.
    truth : ndarray of shape (rows,)
        The right label of gold rows, -1 of others.
    answers : int
        How many there are.

    Examples
    --------
    >>> answers = {"row": [0, 0, 1, 1, 2, 2], "person": ["ann", "bob"] * 3, "answer": [1, 1, 0, 0, 1, 0],
    ...            "group": ["f"] * 6, "truth": [1, 1, 0, 0, 1, 1]}
    >>> people = People.from_answers(answers)
    >>> [(e.person, e.label, round(e.wrong, 2)) for e in people.errors()]
    [('ann', 0, 0.0), ('ann', 1, 0.21), ('bob', 0, 0.0), ('bob', 1, 0.29)]
    """

    def __init__(
        self, row: Int, person: Int, answer: Int, at: Float | None, group: Int, truth: Int,
        names: list[str], groups: list[Any], rows: list[Hashable], classes: tuple[object, object] = (0, 1),
    ) -> None:  # fmt: skip
        self._row, self._person, self._answer, self._at = row, person, answer, at
        self._group, self.truth, self.answers = group, truth, len(row)
        self.names, self.groups, self.rows, self.classes = names, groups, rows, classes
        self._number = {name: i for i, name in enumerate(rows)}
        self._shape = (len(names), len(groups), 2)
        # Of a person who knows the gold rows, answers to them say nothing.
        self._trusted = np.ones(len(row))
        self._fit()
        self._find_leaks()
        if self._leaks.any():
            knows = self._leaks.any(axis=(1, 2))[person]
            self._trusted = np.where(knows & (truth[row] >= 0), 0.0, 1.0)
            self._fit()

    @classmethod
    def from_answers(cls, table: Any, *, classes: tuple[object, object] = (0, 1)) -> Self:
        """Learn from a table of answers.

        Parameters
        ----------
        table : data frame or mapping of columns
            One line per answer: ``row``, ``person``, ``answer``, ``group`` (of the row); and, if they are
            there, ``truth`` (the right label of gold rows, empty for others) and ``at`` (when it was given: a
            date, a time or a number that grows with time). Lines without an answer are left out. Of several
            answers of a person to a row the latest counts, without ``at`` that of the last line.
        classes : pair
            The answers that are 0 and 1.
        """
        columns = list(getattr(table, "column_names", None) or getattr(table, "columns", None) or table)
        if missing := [name for name in ("row", "person", "answer", "group") if name not in columns]:
            raise UserError(
                f"answers have no column {missing[0]!r}",
                "Give row, person, answer and group, and truth for gold rows",
            )
        found = {
            name: np.asarray(table[name], dtype=object).tolist()
            for name in ("row", "person", "answer", "group", "truth", "at")
            if name in columns
        }
        check_lengths(**{name: len(values) for name, values in found.items()})
        given = [i for i, said in enumerate(found["answer"]) if not _empty(said)]
        if not given:
            raise UserError("there are no answers", "Fill in the column 'answer'")
        times = _times([found["at"][i] for i in given]) if "at" in found else None
        if times is not None:
            given = [given[i] for i in np.argsort(times, kind="stable")]
            times = np.sort(times)
        lines = {name: [values[i] for i in given] for name, values in found.items()}
        rows, row = _codes(lines["row"])
        names, person = _codes([str(name) for name in lines["person"]])
        groups, _ = _codes([name for name in lines["group"] if not _empty(name)])
        answer = np.array([_code(said, classes, "answer") for said in lines["answer"]])
        # A person who answers a row again has changed the answer.
        pair = row * len(names) + person
        last = len(pair) - 1 - np.unique(pair[::-1], return_index=True)[1]
        at = None if times is None else times[last]
        group, truth = np.full(len(rows), -1), np.full(len(rows), -1)
        truths = lines.get("truth", [None] * len(row))
        for r, name, right in zip(row.tolist(), lines["group"], truths, strict=True):
            if _empty(name):
                raise UserError(f"row {rows[r]} has no group", "Fill in the column 'group'")
            code = groups.index(name)
            right_code = -1 if _empty(right) else _code(right, classes, "truth")
            if group[r] not in (-1, code):
                raise UserError(f"row {rows[r]} has two groups", "A row has one group in all lines")
            if -1 not in (truth[r], right_code) and truth[r] != right_code:
                raise UserError(f"row {rows[r]} has two truths", "A gold row has one right label")
            group[r], truth[r] = code, max(right_code, truth[r])
        return cls(row[last], person[last], answer[last], at, group, truth, names, groups, rows, classes)

    # -- learning -------------------------------------------------------------------------------

    def _fit(self) -> None:
        """Find the right labels and the errors that fit each other."""
        row, gold = self._row, self.truth >= 0
        n = len(self.rows)
        told = np.bincount(row, minlength=n)
        positive = np.where(gold, self.truth, np.bincount(row, weights=self._answer, minlength=n) / told)
        for _ in range(_ROUNDS):
            before = positive
            wrong, total = self._counts(positive[row], self._trusted)
            self._rate, self._crew = _shrunk(wrong, total)
            share = np.bincount(self._group, weights=positive) + 1
            size = np.bincount(self._group) + 2
            self._says = self._evidence(self._rate)
            odds = logit(share / size)[self._group] + np.bincount(row, weights=self._says, minlength=n)
            positive = np.where(gold, self.truth, expit(odds))
            if np.abs(positive - before).max() < _STILL:
                break
        self.positive = np.where(np.minimum(positive, 1 - positive) < 1e-7, np.round(positive), positive)
        self._wrong, self._total = self._counts(self.positive[row], self._trusted)
        # What gold rows say of each person, and what other rows do: there a person's errors are found again
        # with the evidence of all others, as if this person had answered no gold row.
        is_gold, rate = self.truth[row] >= 0, self._rate
        self._known = is_gold | (told[row] > 1)
        without = odds[row] - self._says
        for _ in range(_OWN):
            self._by_others = np.where(is_gold, self.truth[row], expit(without + self._evidence(rate)))
            self._on_others = self._counts(self._by_others, self._known & ~is_gold)
            rate = (self._on_others[0] + self._crew) / (self._on_others[1] + 1)
        self._on_gold = self._counts(self._by_others, is_gold)

    def _counts(self, positive: Float, part: Float | Bool) -> tuple[Float, Float]:
        """Wrong answers and answers by person, group and right label; ``positive`` is per answer."""
        cell = self._person * self._shape[1] + self._group[self._row]
        wrong, total = np.empty((2, *self._shape))
        for label in (0, 1):
            right = positive if label else 1 - positive
            right = right * part
            for out, weight in ((total, right), (wrong, right * (self._answer != label))):
                flat = np.bincount(cell, weights=weight, minlength=self._shape[0] * self._shape[1])
                out[..., label] = flat.reshape(self._shape[:2])
        return wrong, total

    def _evidence(self, rates: Float) -> Float:
        """What each answer adds to the log odds of label 1."""
        rate = np.clip(rates[self._person, self._group[self._row]], _EPS, 1 - _EPS)
        said = self._answer == 1
        if_one = np.where(said, 1 - rate[:, 1], rate[:, 1])
        if_zero = np.where(said, rate[:, 0], 1 - rate[:, 0])
        return np.asarray(np.log(if_one) - np.log(if_zero))

    # -- what is known ---------------------------------------------------------------------------

    def __contains__(self, row: object) -> bool:
        return row in self._number

    @property
    def shared(self) -> int:
        """Rows that say something of errors: gold rows, and rows with several answers."""
        return int(((self.truth >= 0) | (np.bincount(self._row) > 1)).sum())

    def errors(self, level: float = 0.95) -> list[PersonError]:
        """Return each person's probability of a wrong answer by group and right label, with intervals."""
        row, tail = self.positive[self._row], (1 - level) / 2
        # Where the right label is not certain, neither is who was wrong.
        unsure = np.zeros(self._shape)
        cell = (self._person, self._group[self._row])
        for label in (0, 1):
            np.add.at(unsure[..., label], cell, row * (1 - row))
        a = self._wrong + _CREW * self._crew + 0.5
        b = self._total - self._wrong + _CREW * (1 - self._crew) + 0.5
        own = a * b / ((a + b) ** 2 * (a + b + 1))
        worth = own / (own + unsure / (a + b) ** 2)
        low, high = (betaincinv(a * worth, b * worth, q) for q in (tail, 1 - tail))
        others = self._others(self._wrong, self._total)
        return [
            PersonError(
                name, group, label, float(self._rate[p, g, label]), float(low[p, g, label]),
                float(high[p, g, label]), float(others[p, g, label]), float(self._total[p, g, label]),
            )
            for p, name in enumerate(self.names)
            for g, group in enumerate(self.groups)
            for label in (0, 1)
        ]  # fmt: skip

    @staticmethod
    def _others(wrong: Float, total: Float) -> Float:
        """The rate of all others in each cell; 0 where they have no answers."""
        rest = total.sum(axis=0) - total
        found = (wrong.sum(axis=0) - wrong) / np.maximum(rest, _EPS)
        return np.asarray(np.where(rest > _EPS, found, 0.0))

    def labels(self, rows: Iterable[Hashable] | None = None) -> NDArray[np.object_]:
        """Return the more probable label of rows, all by default."""
        codes = (self._of(rows) > 0.5).astype(int)
        return np.array([self.classes[code] for code in codes], dtype=object)

    def weights(
        self, rows: Iterable[Hashable] | None = None, labels: Iterable[object] | None = None
    ) -> Float:
        """Return the probability that these labels of rows are right; by default the more probable ones.

        Without ``rows``, of all rows in their order.
        """
        positive = self._of(rows)
        if labels is None:
            return np.asarray(np.maximum(positive, 1 - positive))
        codes = np.array([_code(label, self.classes, "label") for label in labels])
        check_lengths(rows=len(positive), labels=len(codes))
        return np.asarray(np.where(codes == 1, positive, 1 - positive))

    def _of(self, rows: Iterable[Hashable] | None) -> Float:
        if rows is None:
            return self.positive
        try:
            return self.positive[[self._number[row] for row in rows]]
        except KeyError as error:
            raise UserError(f"row {error.args[0]!r} has no answer", "Ask for rows with answers") from None

    def second_opinions(
        self, rows: Sequence[Hashable], n: float, value: Sequence[float] | Float | None = None
    ) -> Float:
        """Return the probability with which each row should be answered again, ``n`` rows on average.

        Rows are worth a second opinion as far as their label is probably wrong, times ``value``: what a right
        label is worth there, more near the threshold of a model and in a small group, for example. Every row
        keeps a fifth of the uniform probability. Keep the probabilities: one over them weighs rows that were
        answered again as if they had been drawn uniformly.

        Examples
        --------
        >>> answers = {"row": [0, 0, 1, 2], "person": ["a", "b", "a", "b"], "answer": [1, 0, 1, 0],
        ...            "group": ["f"] * 4, "truth": [1, 1, None, None]}
        >>> People.from_answers(answers).second_opinions([1, 2], 1).round(2).tolist()
        [0.1, 0.9]
        """
        check_lengths(rows=len(rows), value=len(rows if value is None else value))
        wrong = 1 - self.weights(rows)
        worth = wrong * (1.0 if value is None else np.asarray(value, dtype=np.float64))
        if n >= len(rows):
            return np.ones(len(rows))
        # As far as probabilities are cut at 1, the others share what is left.
        low, high, least = 0.0, 1.0, _UNIFORM * n / len(rows)
        while (least + high * worth).clip(max=1.0).sum() < n and high < 1 / _EPS:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            short = (least + middle * worth).clip(max=1.0).sum() < n
            low, high = (middle, high) if short else (low, middle)
        found = (least + high * worth).clip(max=1.0)
        return found if worth.any() else np.full(len(rows), n / len(rows))

    def label_errors(self, opinions: int = 1, *, settled: bool = True) -> dict[Any, LabelError]:
        """Return how often a label is wrong, by group, for an audit: ``Audit(..., noise=...)``.

        A label is what more than half of ``opinions`` people say, drawn from those who answered gold rows;
        where they are half and half, somebody who knows decides or, unless ``settled``, the first one. Wrong
        labels are counted in gold rows, whatever makes people err there together. Answers of a person who
        knows the gold rows (:meth:`suspects`) are replaced by the error that other rows show. Of each cell
        one row more, half of it wrong, is counted.

        Raises TooFewGold where gold rows are too few or too few people answered them, and another UserError
        where the crew answers them better than other rows, or labels are wrong too often for an audit.
        """
        check_count(opinions, "opinions")
        if self._easier.any():
            raise UserError(
                "people answer gold rows better than other rows, so gold rows say nothing of other labels",
                "Choose gold rows at random among the rows that people answer",
            )
        told = np.bincount(self._row, weights=self.truth[self._row] >= 0, minlength=len(self.rows))
        if not (told >= opinions).any():
            raise TooFewGold(
                f"no gold row has {opinions} answers",
                "Let as many people answer each gold row, or ask for fewer opinions. Without gold rows "
                "nothing is known of errors that people share",
            )
        wrong = (self._answer != self.truth[self._row]).astype(np.float64)
        mean, doubt, rows = self._told_wrong(wrong, opinions, settled)
        more, all_ = self._on_others
        for p in np.flatnonzero(self._leaks.any(axis=(1, 2))):
            mine = np.flatnonzero((self._person == p) & (self.truth[self._row] >= 0))
            cell = (self._group[self._row[mine]], self.truth[self._row[mine]])
            rate = (more[p] + _CREW * self._crew) / (all_[p] + _CREW)
            error = np.sqrt(rate * (1 - rate) / (all_[p] + 1))
            ends = []
            for end in (rate - error, rate + error, rate):
                wrong[mine] = np.clip(end, 0.0, 1.0)[cell]
                ends.append(self._told_wrong(wrong, opinions, settled))
            mean = ends[2][0]
            doubt = np.sqrt(np.maximum(doubt, ends[2][1]) ** 2 + ((ends[1][0] - ends[0][0]) / 2) ** 2)
        for g, label in np.argwhere(rows < FEWEST_GOLD):
            raise TooFewGold(
                f"{rows[g, label]} gold rows of {self.groups[g]} have the label {self.classes[label]!r} and "
                f"{opinions} answers: nothing is known of wrong labels there",
                f"Mark at least {FEWEST_GOLD}, drawn at random",
            )
        for g, label in np.argwhere(mean > MOST_WRONG):
            raise UserError(
                f"{mean[g, label]:.0%} of the labels of {self.groups[g]} are wrong where "
                f"{self.classes[label]!r} is right, by gold rows: such labels say nothing",
                "Let more or other people answer each row, and the gold rows",
            )
        return {
            group: LabelError(tuple(mean[g].tolist()), tuple(doubt[g].tolist()), tuple(rows[g].tolist()))
            for g, group in enumerate(self.groups)
        }

    def _told_wrong(self, wrong: Float, opinions: int, settled: bool) -> tuple[Float, Float, Int]:
        """Share of wrong labels by group and right label, its standard error, and gold rows."""
        gold = self.truth[self._row] >= 0
        # The polynomial of each row: ways to choose so many answers of which so many are wrong.
        ways = np.zeros((len(self.rows), opinions + 1, opinions + 1))
        ways[:, 0, 0] = 1
        rank = _rank_within(self._row)
        for turn in range(int(rank[gold].max(initial=-1)) + 1):
            now = gold & (rank == turn)
            r, p = self._row[now], wrong[now][:, None]
            for k in range(opinions, 0, -1):
                ways[r, k] += ways[r, k - 1] * (1 - p)
                ways[r, k, 1:] += ways[r, k - 1, :-1] * p
        told = np.bincount(self._row[gold], minlength=len(self.rows))
        use = np.flatnonzero(told >= opinions)
        some = np.array([comb(int(n), opinions) for n in told[use]], dtype=np.float64)
        share = ways[use, opinions, opinions // 2 + 1 :].sum(axis=1) / some
        if opinions % 2 == 0 and not settled:
            share = share + ways[use, opinions, opinions // 2] / some / 2
        cell, shape = 2 * self._group[use] + self.truth[use], (len(self.groups), 2)
        rows = np.bincount(cell, minlength=2 * shape[0])
        mean = (np.bincount(cell, weights=share, minlength=2 * shape[0]) + 0.5) / (rows + 1)
        square = np.bincount(cell, weights=(share - mean[cell]) ** 2, minlength=2 * shape[0])
        spread = square + 0.5 * (mean**2 + (1 - mean) ** 2)
        doubt = np.sqrt(spread / ((rows + 1) * (rows + 2)))
        return mean.reshape(shape), doubt.reshape(shape), rows.reshape(shape)

    # -- who is suspected -------------------------------------------------------------------------

    def _find_leaks(self) -> None:
        """Find who answers gold rows better than other rows, and cells in which the crew does."""
        found = _better(*self._on_gold, *self._on_others)
        rest = (np.where(found, 0.0, v).sum(axis=0) for v in (*self._on_gold, *self._on_others))
        self._easier = _better(*rest) | (found.mean(axis=0) > 0.5)
        self._leaks = found & ~self._easier

    def suspects(self) -> list[Suspicion]:
        """Return what an owner should look at, in words; each kind errs in one of 100 crews at most."""
        return [*self._harsh(), *self._leaked(), *self._copies(), *self._drifts()]

    def _chance_wrong(self) -> Float:
        """Probability that each answer is wrong, by gold or all others."""
        return np.asarray(np.where(self._answer == 1, 1 - self._by_others, self._by_others))

    def _doubtful(
        self, p: int, g: int | None, label: int | None
    ) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], float]:
        """Rows in which an answer of a person is probably wrong; rows that nobody else answered, and how many
        answers to these are wrong. The most probable come first; gold rows need no other answer.
        """
        chance = np.abs(self._answer - self.positive[self._row])
        mine = (self._person == p) & (self.truth[self._row] < 0)
        if g is not None:
            mine &= self._group[self._row] == g
        if label is not None:
            mine &= self._answer != label
        alone = np.bincount(self._row)[self._row] == 1

        def rows(part: Bool) -> tuple[Hashable, ...]:
            found = np.flatnonzero(mine & part)
            order = np.lexsort((self._row[found], -chance[found]))
            return tuple(self.rows[self._row[i]] for i in found[order])

        return rows(~alone & (chance > 0.5)), rows(alone), float(chance[mine & alone].sum())

    def _harsh(self) -> list[Suspicion]:
        wrong, total = self._counts(self._by_others, self._known * self._trusted)
        others = self._others(wrong, total)
        tail = binom.sf(np.round(wrong) - 1, np.maximum(np.round(total), 1), np.minimum(others + _MARGIN, 1))
        named = (tail < _LEVEL / total.size) & (total > 0)
        # Words say what the table of errors says.
        rate, others, found = self._rate, self._others(self._wrong, self._total), []
        for p in range(len(self.names)):
            facts = [
                (self.groups[g], self.classes[1 - label], self.classes[label],
                 float(rate[p, g, label]), float(others[p, g, label]))
                for label in (1, 0) for g in np.flatnonzero(named[p, :, label])
            ]  # fmt: skip
            if not facts:
                continue
            one = named[p].sum() == 1
            g, label = (int(v) for v in np.argwhere(named[p])[0]) if one else (None, None)
            kind = "random" if named[p].all() else "harsh"
            found.append(self._named(kind, p, facts, g, label))
        return found

    def _named(self, kind: str, p: int, facts: Sequence[Any], g: int | None, label: int | None) -> Suspicion:
        """A person who errs more than others do, with the answers that it changes."""
        rows, alone, wrong = self._doubtful(p, g, label)
        words = suspicion_sentence(kind, (self.names[p],), facts, len(rows), len(alone), wrong)
        return Suspicion(kind, (self.names[p],), words, rows + alone)

    def _leaked(self) -> list[Suspicion]:
        found = []
        gold = self._on_gold[0] / np.maximum(self._on_gold[1], 1)
        for p in range(len(self.names)):
            mine = np.argwhere(self._leaks[p]).tolist()
            facts = [
                (self.groups[g], self.classes[1 - y], self.classes[y], self._rate[p, g, y], gold[p, g, y])
                for g, y in mine
            ]
            if facts:
                found.append(self._named("leaked", p, facts, *(mine[0] if len(mine) == 1 else (None, None))))
        return found

    def _copies(self) -> list[Suspicion]:
        """Pairs who give the same wrong answers more often than their errors and other pairs explain."""
        n, k = len(self.rows), len(self.names)
        place = np.full((n, k), -1)
        place[self._row, self._person] = np.arange(len(self._row))
        pairs = list(combinations(range(k), 2))
        # By pair, group and label: rows in which both are wrong, and those expected.
        both, due = np.zeros((2, len(pairs), len(self.groups), 2))
        told = np.bincount(self._row)
        for number, (i, j) in enumerate(pairs):
            rows = np.flatnonzero((place[:, i] >= 0) & (place[:, j] >= 0) & ((self.truth >= 0) | (told > 2)))
            a, b = place[rows, i], place[rows, j]
            positive = self.positive[rows]
            for label in (0, 1):
                right = positive if label else 1 - positive
                same = right * ((self._answer[a] != label) & (self._answer[b] != label))
                rate = self._rate[i, :, label] * self._rate[j, :, label]
                size = len(self.groups)
                both[number, :, label] = np.bincount(self._group[rows], weights=same, minlength=size)
                due[number, :, label] = rate * np.bincount(self._group[rows], weights=right, minlength=size)
        # Rows that are hard for everybody make all pairs err together: that is no copying.
        hard = (both.sum(axis=0) - both + 1) / (due.sum(axis=0) - due + 1)
        expected = (due * np.maximum(hard, 1.0)).sum(axis=(1, 2))
        seen = both.sum(axis=(1, 2))
        tail = poisson.sf(np.floor(seen) - 1, np.maximum(expected, _EPS))
        found = []
        for number in np.flatnonzero((tail < _LEVEL / max(len(pairs), 1)) & (seen >= 3)).tolist():
            i, j = pairs[number]
            same = set(self._doubtful(i, None, None)[0]) & set(self._doubtful(j, None, None)[0])
            names = (self.names[i], self.names[j])
            rows_ = tuple(sorted(same, key=lambda row: self._number[row]))
            words = suspicion_sentence(
                "copies", names, (float(seen[number]), float(expected[number])), len(rows_)
            )
            found.append(Suspicion("copies", names, words, rows_))
        return found

    def _drifts(self) -> list[Suspicion]:
        """People who err otherwise at last than at first; if none does alone, all of them together."""
        if self._at is None:
            return []
        row, wrong, found = self._row, self._chance_wrong(), []
        for p, name in enumerate(self.names):
            mine = self._known & (self._person == p)
            change = self._change(self._at[mine], wrong[mine], row[mine])
            if change is not None:
                facts, (g, label), worse = change
                rows = tuple(r for r in self._doubtful(p, g, label)[0] if self._number[r] in worse)
                words = suspicion_sentence("drift", (name,), facts, len(rows))
                found.append(Suspicion("drift", (name,), words, rows))
        # Answers to one row are not independent: of the crew each row counts once.
        known, told = np.unique(row[self._known]), np.bincount(row)
        at, mean = (np.bincount(row, values)[known] / told[known] for values in (self._at, wrong))
        change = self._change(at, mean, known)
        if change is not None and not found:
            crew = tuple(self.names)
            found.append(Suspicion("drift", crew, suspicion_sentence("drift", crew, change[0], 0)))
        return found

    def _change(self, at: Float, wrong: Float, row: Int) -> Any:
        """The largest change of errors over time, in all rows or in a group and right label; None if none is.

        Returned are the rates of the first and the last half with the names of the cell, its codes, and the
        rows of the worse half.
        """
        cells, found = [(None, None), *np.ndindex(self._shape[1:])], None
        right = self.positive[row] > 0.5
        for g, label in cells:
            here = np.full(len(row), True) if g is None else (self._group[row] == g) & (right == label)
            tail, first, last = _trend(at[here], wrong[here])
            apart = abs(last - first)
            sure = tail < _LEVEL / (len(self.names) + 1) / len(cells)
            if sure and apart > _MARGIN and (found is None or apart > abs(np.subtract(*found[0][:2]))):
                where = None if g is None or label is None else (self.groups[g], self.classes[label])
                worse = here & ((at <= np.median(at[here])) == (first > last))
                found = (first, last, where), (g, label), set(row[worse].tolist())
        return found


def _shrunk(wrong: Float, total: Float) -> tuple[Float, Float]:
    """Rates by person, group and label, shrunk towards the crew's; those towards the rate of all groups."""
    everywhere = wrong.sum(axis=(0, 1)) / np.maximum(total.sum(axis=(0, 1)), _EPS)
    crew = (wrong.sum(axis=0) + _CREW * everywhere) / (total.sum(axis=0) + _CREW)
    return (wrong + _CREW * crew) / (total + _CREW), crew


def _better(wrong: Float, total: Float, more: Float, all_: Float) -> Bool:
    """Where gold rows (first) are answered better than others: Fisher's exact test, and a margin."""
    a, n, b, m = (np.round(v).astype(int) for v in (wrong, total, more, all_))
    tail = hypergeom.cdf(a, n + m, a + b, n)
    apart = b / np.maximum(m, 1) - a / np.maximum(n, 1) > _MARGIN
    return np.asarray((tail < _LEVEL / wrong.size) & apart & (n > 0) & (m > 0))


def _trend(at: Float, wrong: Float) -> tuple[float, float, float]:
    """A test of the correlation of errors with time: its tail, and the rates of the first and the last half.

    Nothing is said of few answers, or of answers of one time.
    """
    early = at <= np.median(at) if len(at) else at > 0
    if len(at) < _FEWEST or early.all():
        return 1.0, 0.0, 0.0
    when = rankdata(at)
    x, w = when - when.mean(), wrong - wrong.mean()
    spread = np.sqrt((x @ x) * (w @ w) / (len(at) - 1))
    tail = 2 * norm.sf(abs(x @ w) / max(spread, _EPS))
    return float(tail), float(wrong[early].mean()), float(wrong[~early].mean())


def _rank_within(row: Int) -> Int:
    """How many answers of the same row come before each answer."""
    order = np.argsort(row, kind="stable")
    starts = np.searchsorted(row[order], row[order])
    rank = np.empty(len(row), dtype=np.int64)
    rank[order] = np.arange(len(row)) - starts
    return rank


def _codes(values: Sequence[Any]) -> tuple[list[Any], Int]:
    """Different values, sorted where they can be, and the place of each."""
    different = dict.fromkeys(values)
    try:
        names = sorted(different)
    except TypeError:
        names = sorted(different, key=str)
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[value] for value in values], dtype=np.int64)


def _code(said: object, classes: tuple[object, object], column: str) -> int:
    if said in classes:
        return classes.index(said)
    named = [str(name) for name in classes]
    if str(said) in named:
        return named.index(str(said))
    raise UserError(f"the {column} {str(said)[:40]!r} is unknown", f"Answers are {named[0]} and {named[1]}")


def _times(values: Sequence[Any]) -> Float | None:
    """When answers were given, as numbers; None where nothing says it."""
    if all(_empty(value) for value in values):
        return None
    found = []
    for value in values:
        try:
            found.append(_moment(value))
        except (TypeError, ValueError):
            raise UserError(
                f"the column 'at' has {str(value)[:40]!r}",
                "Give each answer a date, a time (2026-03-01T09:30) or a number, or leave the column out",
            ) from None
    return np.array(found)


def _moment(value: Any) -> float:
    """A number that grows with time."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = datetime.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    if not np.isfinite(float(value)):
        raise ValueError
    return float(value)


def _empty(value: object) -> bool:
    return is_gap(value) or value == ""
