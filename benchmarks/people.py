"""Ten hostile crews: are their audits valid, what do they cost, and is who errs found?

    python -m benchmarks.people [--crews harsh leaked]

The crews were written down before the estimator. In each, the bias is such that it hides the gap of a pool
whose true gap is a hair above the tolerance, so that every certificate is false.
"""

from benchmarks._machine import machine_line

import argparse
from dataclasses import dataclass, field

import numpy as np

GROUPS = ("M", "F")
#: Share of label 1, and by label 0 and 1 the share that the model decides positively, in both groups. The
#: model's false positive rate is higher for M by a hair more than the tolerance of .1.
BASE, DECIDED = (0.5, 0.4), ((0.2501, 0.80), (0.15, 0.80))
ROWS, TOLERANCE, DELTA = (6000, 4000), 0.1, 0.05


@dataclass
class Crew:
    """People and how they err: ``wrong[person, group, label]`` is the probability of a wrong answer.

    ``copies`` are pairs of which the second gives the first one's answer in 9 of 10 rows. ``leaked`` knows
    the gold rows. ``learns`` errs four times as much at first as at last, in equal steps. On a share
    ``shared`` of the rows of F with label 1 everybody says 0.
    """

    words: str
    wrong: np.ndarray
    copies: tuple[int, int] | None = None
    leaked: int | None = None
    learns: int | None = None
    shared: float = 0.0
    gold: int = 300  #: gold rows, and how many people answer each
    gold_people: int = 5
    rows: int = 600  #: other rows, and how many people answer each
    opinions: int = 3
    guilty: tuple[int, ...] = field(default=())  #: who should be found

    def answer(self, who, group, label, gold, late, rng):
        """Answers of people (columns) to rows; ``late`` is how far the work has come, from 0 to 1."""
        rate = self.wrong[who, group[:, None], label[:, None]]
        if self.learns is not None:
            rate = np.where(who == self.learns, rate * (4 - 3 * late[:, None]), rate)
        if self.leaked is not None:
            rate = np.where((who == self.leaked) & gold[:, None], 0.0, rate)
        wrong = rng.random(who.shape) < rate
        if self.copies is not None:
            first, second = ((who == p) for p in self.copies)
            both = first.any(axis=1) & second.any(axis=1) & (rng.random(len(who)) < 0.9)
            of_first = (wrong & first).any(axis=1)
            wrong = np.where(second & both[:, None], of_first[:, None], wrong)
        blind = (group == 1) & (label == 1) & (rng.random(len(who)) < self.shared)
        return np.where(wrong | blind[:, None], 1 - label[:, None], label[:, None])

    def table(self, rng):
        """The answers as columns: row, person, answer, group, truth (of gold rows, else None)."""
        n = self.gold + self.rows
        gold = rng.permutation(n) < self.gold
        group = (rng.random(n) < 0.4).astype(int)
        label = (rng.random(n) < np.array(BASE)[group]).astype(int)
        order = np.argsort(rng.random((n, len(self.wrong))), axis=1)
        found = []
        for mine, many in ((gold, self.gold_people), (~gold, self.opinions)):
            late = np.linspace(0, 1, n)[mine]
            who = order[mine][:, :many]
            said = self.answer(who, group[mine], label[mine], gold[mine], late, rng)
            row = np.repeat(np.flatnonzero(mine), many)
            found.append(np.stack([row, who.ravel(), said.ravel()]))
        row, who, said = np.concatenate(found, axis=1)
        by = np.argsort(row, kind="stable")
        row, who, said = row[by], who[by], said[by]
        truth = [int(label[r]) if gold[r] else None for r in row]
        return {
            "row": row,
            "person": np.array([f"p{p}" for p in range(len(self.wrong))])[who],
            "answer": said,
            "group": np.array(GROUPS)[group[row]],
            "truth": np.array(truth, dtype=object),
        }

    def label_error(self, opinions):
        """P(a label of so many opinions is wrong) by group and label, once all have learned.

        One of two is enough for the right label: where two people disagree, somebody who knows decides.
        """
        rng, n = np.random.default_rng(7), 200_000
        found = np.empty((2, 2))
        who = np.argsort(rng.random((n, len(self.wrong))), axis=1)[:, :opinions]
        for g in (0, 1):
            for y in (0, 1):
                rows = (np.full(n, g), np.full(n, y), np.zeros(n, dtype=bool), np.ones(n))
                said = self.answer(who, *rows, rng)
                found[g, y] = np.mean((said != y).sum(axis=1) > opinions / 2)
        return found


def even(rate, people=5):
    """A crew that errs alike in all groups and labels."""
    return np.full((people, 2, 2), rate)


def crew_with(person, rates, rate=0.05):
    """An even crew but for one person, whose rates are given by group and label."""
    wrong = even(rate)
    wrong[person] = rates
    return wrong


CREWS = {
    "honest 5 %": Crew("all err in 5 % of the rows", even(0.05)),
    "honest 10 %": Crew("all err in 10 % of the rows", even(0.10)),
    "harsh": Crew(
        "one says no to 40 % of F who deserve yes", crew_with(1, [[0.05, 0.05], [0.05, 0.4]]), guilty=(1,)
    ),
    "lazy": Crew("one says no to nearly all", crew_with(1, [[0.02, 0.9], [0.02, 0.9]]), guilty=(1,)),
    "copying": Crew(
        "two err in 15 %, and one copies the other in 9 of 10 rows",
        np.concatenate([even(0.15, 2), even(0.05, 3)]), copies=(0, 1), guilty=(0, 1),
    ),
    "leaked": Crew(
        "one is perfect on gold rows, and says no to 40 % of F who deserve yes",
        crew_with(1, [[0.05, 0.05], [0.05, 0.4]]), leaked=1, guilty=(1,),
    ),
    "learning": Crew("one errs in 20 % at first and 5 % at last", even(0.05), learns=1),
    "random": Crew("one answers at random", crew_with(1, 0.5), guilty=(1,)),
    "shared": Crew("all say no to the same 15 % of F who deserve yes", even(0.05), shared=0.15),
    "few": Crew(
        "twenty people of 10 % with 75 answers each", even(0.10, 20), gold_people=2, rows=450, opinions=2
    ),
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crews", nargs="+", default=list(CREWS), choices=list(CREWS))
    given = parser.parse_args()
    print("| crew | | label wrong in F, label 1: one opinion | two |\n|---|---|---:|---:|")
    for name in given.crews:
        one, two = (CREWS[name].label_error(k)[1, 1] for k in (1, 2))
        print(f"| {name} | {CREWS[name].words} | {one:.3f} | {two:.3f} |")
    print(machine_line())


if __name__ == "__main__":
    main()
