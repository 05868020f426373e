"""Ten hostile crews: are their audits valid, what do they cost, and is who errs found?

    python -m benchmarks.people [--crews harsh leaked] [--tables 400] [--cost 40] [--training 8]

The crews were written down before the estimator, those that are LATER after it and before they were run. In
each, the bias is such that it hides the gap of a pool whose true gap is a hair above the tolerance, so that
every certificate is false. Each audit has a table of answers of its own (300 gold rows), from which it learns
how often labels are wrong. Labels needed are those until a certificate, of two models that are within the
tolerance, beside audits with true labels.
"""

from benchmarks._machine import machine_line

import argparse
from dataclasses import dataclass, field, replace

import numpy as np

from fairask import FairActiveLearner
from fairask.audit.plan import AuditPlan
from fairask.audit.simulation import CERTIFIED, Truth, play
from fairask.audit.layout import Layout
from fairask.audit.strata import noise_table
from fairask.datasets import load
from fairask.errors import UserError
from fairask.metrics import group_gap
from fairask.people import People
from fairask.sampling import Draws

GROUPS = ("M", "F")
#: Share of label 1, and by label 0 and 1 the share that the model decides positively, in both groups. The
#: model's false positive rate is higher for M by a hair more than the tolerance of .1.
BASE, DECIDED = (0.5, 0.4), ((0.2501, 0.80), (0.15, 0.80))
ROWS, TOLERANCE, DELTA = (6000, 4000), 0.1, 0.05


@dataclass
class Crew:
    """People and how they err: ``wrong[person, group, label]`` is the probability of a wrong answer.

    ``copies`` are pairs of which the second gives the first one's answer in 9 of 10 rows. ``leaked`` knows
    the gold rows. ``learns`` errs four times as much at first as at last, in equal steps. ``turns`` says no
    to 40 % of F who deserve yes in the second half of the work. On a share ``shared`` of the rows of F with
    label 1 everybody says 0. ``tires`` is how much more often everybody says 0 to such rows at last than at
    first. ``hard`` is how many times as often everybody errs in rows that the model decides wrongly.
    """

    words: str
    wrong: np.ndarray
    copies: tuple[int, int] | None = None
    leaked: int | None = None
    learns: int | None = None
    turns: int | None = None
    shared: float = 0.0
    tires: float = 0.0
    hard: float = 1.0
    gold: int = 300  #: gold rows, and how many people answer each
    gold_people: int = 5
    rows: int = 600  #: other rows, and how many people answer each
    opinions: int = 3
    guilty: tuple[int, ...] = field(default=())  #: who should be found

    def answer(self, who, group, label, gold, late, rng, missed=False):
        """Answers of people (columns) to rows; ``late`` is how far the work has come, from 0 to 1.

        ``missed`` says whether the model decides a row wrongly.
        """
        rate = self.wrong[who, group[:, None], label[:, None]]
        rate = rate + np.where((group == 1) & (label == 1), self.tires * late, 0.0)[:, None]
        rate = rate * np.where(missed, self.hard, 1.0)[..., None]
        if self.learns is not None:
            rate = np.where(who == self.learns, rate * (4 - 3 * late[:, None]), rate)
        if self.turns is not None:
            harsh = (group == 1) & (label == 1) & (late > 0.5)
            rate = np.where((who == self.turns) & harsh[:, None], 0.4, rate)
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
        missed = np.zeros(n, dtype=bool)
        if self.hard != 1:
            missed = (rng.random(n) < np.array(DECIDED)[group, label]) != label
        order = np.argsort(rng.random((n, len(self.wrong))), axis=1)
        found = []
        for mine, many in ((gold, self.gold_people), (~gold, self.opinions)):
            late = np.linspace(0, 1, n)[mine]
            who = order[mine][:, :many]
            said = self.answer(who, group[mine], label[mine], gold[mine], late, rng, missed[mine])
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
            "right": label[row],  # not seen by who learns from the answers
        }

    def label_error(self, opinions):
        """P(a label of so many opinions is wrong) by decision, group and label, once the work is done.

        One of two is enough for the right label: where two people disagree, somebody who knows decides.
        """
        rng, n = np.random.default_rng(7), 200_000
        found = np.empty((2, 2, 2))
        who = np.argsort(rng.random((n, len(self.wrong))), axis=1)[:, :opinions]
        for g in (0, 1):
            for y in (0, 1):
                rows = (np.full(n, g), np.full(n, y), np.zeros(n, dtype=bool), np.ones(n))
                for decision in (0, 1) if self.hard != 1 else (y,):
                    said = self.answer(who, *rows, rng, decision != y)
                    found[decision, g, y] = np.mean((said != y).sum(axis=1) > opinions / 2)
                if self.hard == 1:
                    found[1 - y, g, y] = found[y, g, y]
        return found


def even(rate, people=5):
    """A crew that errs alike in all groups and labels."""
    return np.full((people, 2, 2), rate)


def crew_with(person, rates, rate=0.05):
    """An even crew but for one person, whose rates are given by group and label."""
    wrong = even(rate)
    wrong[person] = rates
    return wrong


#: One who says no to 40 % of F who deserve yes.
HARSH = np.array([[[0.05, 0.05], [0.05, 0.4]]])

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
#: Crews that somebody hostile thought of when the method was there.
LATER = {
    "tiring": Crew(
        "all say no to 25 % of F who deserve yes at last, and to 5 % at first", even(0.05), tires=0.2
    ),
    "little gold": Crew("the shared error with 60 gold rows", even(0.05), shared=0.15, gold=60),
    "hard rows": Crew(
        "all err four times as often in rows that the model decides wrongly", even(0.05), hard=4.0
    ),
    "turning": Crew(
        "one says no to 40 % of F who deserve yes in the second half", even(0.05), turns=1, guilty=(1,)
    ),
    "opposite": Crew(
        "one says no to 40 % of F who deserve yes, another yes to 35 % of F who deserve no",
        np.concatenate([HARSH, [[[0.05, 0.05], [0.35, 0.05]]], even(0.05, 3)]), guilty=(0, 1),
    ),
}  # fmt: skip
ALL = CREWS | LATER
#: Headings of the tables of false certificates. Refusals of the first are those with one opinion.
_FALSE = ("one opinion: labels as they are, false %", "learned, false %")
FIRST = (
    "crew", *_FALSE, "two opinions: as they are", "learned", "refused %", "all guilty named %",
    "an innocent named %",
)  # fmt: skip
THEN = ("crew", *_FALSE, "refused %", "two opinions: as they are", "learned", "refused %")


#: False positive rates of models that are within the tolerance.
FAIR = ((0.15, 0.15), (0.18, 0.15))


def pool(false_positive):
    """Strata of a pool whose model has these false positive rates: rows, and labels 1."""
    size, ones = [], []
    for rows, base, rate, decided in zip(ROWS, BASE, false_positive, DECIDED, strict=True):
        positive = rows * base
        told = np.ceil((rows - positive) * rate - 1e-9), positive * decided[1]
        size += [rows - sum(told), sum(told)]
        ones += [positive - told[1], told[1]]
    return np.array([size]), np.array([ones])


def schedule(budget, looks):
    plan = AuditPlan(metric="fprp", tolerance=TOLERANCE, delta=DELTA, budget=budget, looks=looks)
    return plan.schedule(sum(ROWS))


def by_stratum(label_error):
    """P(label wrong) of labels 0 and 1, by stratum: group, then decision."""
    return label_error.transpose(2, 1, 0).reshape(2, -1)


def audits(people, wrong, opinions, truth, looks, rng):
    """The verdict and labels of an audit that takes what was learned; None where nothing can be."""
    try:
        ends, doubt = noise_table(people.label_errors(opinions), GROUPS)
    except UserError:
        return None
    layout = replace(Layout.plain(len(GROUPS)), noise=ends, doubt=doubt)
    verdict, used = play(Truth(*truth, noise=wrong), looks, layout, rng)
    return bool(verdict[0, 0] == CERTIFIED), int(used[0])


def share(values):
    """A share in per cent, with its standard error."""
    rate = np.mean(values)
    return f"{100 * rate:.1f} ± {100 * np.sqrt(rate * (1 - rate) / max(len(values), 1)):.1f}"


def validity(name, tables):
    """Print false certificates without a correction and with what was learned; return who was named."""
    crew, looks, truth = ALL[name], schedule(1000, 3), pool([decided[0] for decided in DECIDED])
    errors = {k: crew.label_error(k) for k in (1, 2)}
    learned, refused = {1: [], 2: []}, {1: 0, 2: 0}
    guilty, found, innocent, changes = {f"p{p}" for p in crew.guilty}, [], [], []
    for seed in range(tables):
        rng = np.random.default_rng([seed, list(ALL).index(name)])
        table = crew.table(rng)
        people = People.from_answers({**table, "at": table["row"]})
        suspects = people.suspects()
        named = {person for s in suspects if s.kind != "drift" for person in s.people}
        changes.append(any(s.kind == "drift" for s in suspects))
        found.append(guilty <= named)
        innocent.append(bool(named - guilty))
        for k in (1, 2):
            done = audits(people, by_stratum(errors[k]), k, truth, looks, rng)
            if done is None:
                refused[k] += 1
            learned[k].append(done is not None and done[0])
    plain = {}
    for k in (1, 2):
        many = Truth(*(np.repeat(v, 4000, axis=0) for v in truth), noise=by_stratum(errors[k]))
        verdict, _ = play(many, looks, Layout.plain(len(GROUPS)), np.random.default_rng(k))
        plain[k] = share(verdict[:, 0] == CERTIFIED)
    out = {k: f"{100 * refused[k] / tables:.1f}" for k in (1, 2)}
    one, two = (f"{plain[k]} | {share(learned[k])}" for k in (1, 2))
    who = share(found) if guilty else "-"
    if name in CREWS:
        print(f"| {name} | {one} | {two} | {out[1]} | {who} | {share(innocent)} |", flush=True)
    else:
        print(f"| {name} | {one} | {out[1]} | {two} | {out[2]} |", flush=True)
    others = f"an innocent in {share(innocent)} %, a change in {share(changes)} %"
    return f"{name}: all guilty named in {who}{' %' * (who != '-')}, {others}"


def cost(tables):
    """Labels until a certificate, beside those of audits with true labels."""
    looks = schedule(4000, 20)
    for rates in FAIR:
        truth = pool(rates)
        many = Truth(*(np.repeat(v, 1000, axis=0) for v in truth))
        _, true = play(many, looks, Layout.plain(len(GROUPS)), np.random.default_rng(0))
        for name in ("honest 10 %", "few"):
            crew = CREWS[name]
            for k in (1, 2):
                wrong, used, certified = by_stratum(crew.label_error(k)), [], []
                for seed in range(tables):
                    rng = np.random.default_rng([seed, 99])
                    people = People.from_answers(crew.table(rng))
                    done = audits(people, wrong, k, truth, looks, rng)
                    if done is not None:
                        certified.append(done[0])
                        used.append(done[1])
                ratio = np.array(used) / true.mean()
                error = ratio.std() / np.sqrt(len(ratio))
                print(
                    f"| {name} | {rates[0] - rates[1]:.2f} | {k} | {true.mean():.0f} | {np.mean(used):.0f} | "
                    f"{ratio.mean():.2f} ± {error:.2f} | {k * ratio.mean():.2f} | {share(certified)} |",
                    flush=True,
                )


def second(tables):
    """Wrong labels that 150 second opinions find among 600 rows with one: evenly, or where they pay."""
    estimates = []
    for name in ("harsh", "lazy", "random", "honest 10 %"):
        crew, found = replace(CREWS[name], opinions=1), []
        for seed in range(tables):
            rng = np.random.default_rng([seed, 3])
            table = crew.table(rng)
            one = np.array([truth is None for truth in table["truth"]])
            row, said, right = (table[column][one] for column in ("row", "answer", "right"))
            first = np.array([int(person[1:]) for person in table["person"][one]])
            chance = People.from_answers(table).second_opinions(row.tolist(), len(row) / 4)
            # Another person of the crew; where both differ, somebody who knows decides.
            other = (first + rng.integers(1, len(crew.wrong), len(row))) % len(crew.wrong)
            group = (table["group"][one] == GROUPS[1]).astype(int)
            late = np.ones(len(row))
            again = crew.answer(other[:, None], group, right, late == 0, late, rng)[:, 0]
            seen = ((said != right) & (again == right)).astype(float)
            bought = rng.random(len(row)) < chance
            found.append(
                [(said != right).sum(), seen.sum() / 4, seen @ chance, (seen / chance)[bought].sum() / 4]
            )
        total, even_, where, estimate = np.mean(found, axis=0)
        error = [np.std([f[k] - f[1] for f in found]) / np.sqrt(tables) for k in (2, 3)]
        print(
            f"| {name} | {total:.1f} | {even_:.1f} | {where:.1f} | {where - even_:.1f} ± {error[0]:.1f} |",
            flush=True,
        )
        estimates.append(f"{name}: {estimate - even_:.2f} ± {error[1]:.2f}")
    print(f"\nThe first estimated from the second, less the first: {', '.join(estimates)}")


def training(trials):
    """Models of Adult from 500 rows with one answer each: labels as told, and weighed by what is learned."""
    data = load("adult")
    X, y, sex = np.asarray(data.X), np.asarray(data.y).astype(int), np.asarray(data.groups)
    group = (sex == min(np.unique(sex), key=lambda name: y[sex == name].mean())).astype(int)
    for name in ("harsh", "lazy", "random"):
        crew, found = CREWS[name], {}
        for seed in range(trials):
            rng = np.random.default_rng([seed, 4])
            drawn, test = np.split(rng.permutation(len(y))[:14_000], [4000])
            rows, gold, lines = np.arange(500), np.arange(500, 600), []
            for part, opinions in ((rows, 1), (gold, 5)):
                who = np.argsort(rng.random((len(part), len(crew.wrong))), axis=1)[:, :opinions]
                of = drawn[part]
                known = np.full(len(part), opinions > 1)
                said = crew.answer(who, group[of], y[of], known, np.ones(len(part)), rng)
                lines += [
                    (
                        int(r),
                        f"p{p}",
                        int(a),
                        GROUPS[group[drawn[r]]],
                        int(y[drawn[r]]) if opinions > 1 else None,
                    )
                    for r, people, answers in zip(part, who, said, strict=True)
                    for p, a in zip(people, answers, strict=True)
                ]
            columns = zip(*lines, strict=True)
            table = dict(zip(("row", "person", "answer", "group", "truth"), map(list, columns), strict=True))
            people = People.from_answers(table)
            told = np.array([a for _, _, a, _, truth in lines if truth is None])
            likely, chance = people.labels(rows.tolist()).astype(int), people.weights(rows.tolist())
            ways = {
                "true labels": (y[drawn[rows]], None),
                "as told": (told, None),
                "as told, weighed": (told, np.where(told == likely, chance, 1 - chance)),
                "more probable label, weighed": (likely, chance),
            }
            for way, (labels, sure) in ways.items():
                learner = FairActiveLearner(X[drawn], sex[drawn], random_state=0)
                draws = Draws(rows, np.full(500, 1 / 4000), ["uniform"] * 500, np.full(500, 4000))
                learner.state.log.add(draws, 0)
                learner.state.log.label(
                    rows.tolist(), labels.tolist(), None if sure is None else sure.tolist()
                )
                model = learner.current_model()
                said = model.predict(X[test], sensitive_features=sex[test])
                gap = group_gap(y[test], said, sex[test])
                found.setdefault(way, []).append((100 * np.mean(said == y[test]), gap))
        for way, values in found.items():
            mean, error = np.mean(values, axis=0), np.std(values, axis=0) / np.sqrt(trials)
            print(
                f"| {name} | {way} | {mean[0]:.1f} ± {error[0]:.1f} | {mean[1]:.3f} ± {error[1]:.3f} |",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crews", nargs="*", default=list(ALL), choices=list(ALL))
    parser.add_argument("--tables", type=int, default=400, help="tables of answers per crew")
    parser.add_argument("--training", type=int, default=8, help="trials of models on Adult; 0: none")
    parser.add_argument("--cost", type=int, default=40, help="tables for the number of labels; 0: none")
    given = parser.parse_args()
    for name in given.crews:
        crew = ALL[name]
        one, two = (crew.label_error(k)[1, 1, 1] for k in (1, 2))
        print(f"{name}: {crew.words}; wrong labels of F that deserve 1: {one:.3f}, with two {two:.3f}")
    named = []
    for crews, heading in ((CREWS, FIRST), (LATER, THEN)):
        if mine := [name for name in given.crews if name in crews]:
            print(f"\n| {' | '.join(heading)} |\n|---|{'---:|' * (len(heading) - 1)}")
            named += [validity(name, given.tables) for name in mine]
    print("", *named, sep="\n")
    if given.cost:
        print(
            "\n| crew | true gap | opinions | true labels | labels | ratio of labels | ratio of answers | "
            "certified by 4,000 labels, % |\n|---|---:|---:|---:|---:|---:|---:|---:|"
        )
        cost(given.cost)
        print(
            "\n| crew | wrong labels of 600 | found evenly | found where they pay | more |\n"
            "|---|---:|---:|---:|---:|"
        )
        second(given.cost)
    if given.training:
        print("\n| crew | labels | accuracy % | gap of true positive rates |\n|---|---|---:|---:|")
        training(given.training)
    print(machine_line())


if __name__ == "__main__":
    main()
