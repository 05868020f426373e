"""Is a watched model called refuted without a reason, and how soon is a change found?

python -m benchmarks.watch [--runs 1000] [--labels 200]

The scenarios were written down before the method was chosen, those that are LATER after it and before they
were run. Each is 36 months of about 3,000 rows. The true
rates of every month are known, so that every statement is right or wrong: a refutation is false where no
window of months that it could speak of had a gap above the tolerance; a new certificate is false where the
gap of its twelve months is above it. Where the gap is exactly the tolerance nothing said is false, and both
may be said in 5 % of the runs at most.
"""

from benchmarks._machine import machine_line

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from fairask import CalibratedFairOracle, group_gap
from fairask.audit import simulate_audit
from fairask.audit.plan import QUESTIONS
from fairask.audit.simulation import draw
from fairask.audit.layout import Counts
from fairask.audit.watch import Watch, together
from fairask.datasets import load

MONTHS, ROWS, TOLERANCE, BINS = 36, 3000, 0.1, 4
NAMES = [f"{2024 + i // 12}-{i % 12 + 1:02d}" for i in range(MONTHS)]
SEASON = np.sin(2 * np.pi * np.arange(MONTHS) / 12)


def after(month):
    """1 from a month on (the first is month 1), 0 before."""
    return (np.arange(1, MONTHS + 1) >= month).astype(float)


@dataclass(frozen=True)
class Scenario:
    """The truth: per month (or for all months) of each group its share, base rate, and two error rates.

    ``score`` is how many times likelier each bin of the model's score makes label 1 than the bin below, among
    rows of one group and decision: 1 tells nothing, below 1 it misleads. ``lost`` is the share of rejected
    positives of the last group that nobody can label. ``rows`` are those of each month. ``in_doubt`` are the
    labels of a month after one that raised doubt, if they are others.
    """

    tpr: tuple
    fpr: tuple = (0.1, 0.1)
    base: tuple = (0.4, 0.3)
    share: tuple = (0.6, 0.4)
    score: float = 2.5
    lost: float = 0.0
    metric: str = "tprp"
    rows: float | np.ndarray = ROWS
    in_doubt: int | None = None

    def by_month(self, name):
        """Values of shape (months, groups)."""
        return np.stack([np.broadcast_to(v, MONTHS) for v in getattr(self, name)], axis=1).astype(float)

    def cells(self):
        """Probability of each (group, decision, bin, label): of shape (months, groups, 2, bins, 2)."""
        tpr, fpr, base, share = map(self.by_month, ("tpr", "fpr", "base", "share"))
        one = np.stack([1 - tpr, tpr], -1) * base[..., None]
        zero = np.stack([1 - fpr, fpr], -1) * (1 - base)[..., None]
        power = self.score ** (np.arange(BINS) / 2)
        ones, zeros = power / power.sum(), power[::-1] / power.sum()
        both = np.stack([zero[..., None] * zeros, one[..., None] * ones], -1)
        return both * (share / share.sum(1, keepdims=True))[..., None, None, None]

    def gap(self, window):
        """The true gap of some months taken together."""
        rows = np.broadcast_to(self.rows, MONTHS)[window]
        told = np.einsum("m,mgdbl->gdl", rows, self.cells()[window])  # by group, decision and label
        question = QUESTIONS[self.metric]
        some = [told.sum(axis=2) if label is None else told[..., label] for label in question.conditions]
        return max(question.gap(part[:, 1] / part.sum(axis=1)) for part in some)


SCENARIOS = {
    "unchanged, at the tolerance": Scenario((0.85, 0.75)),
    "unchanged, well inside": Scenario((0.85, 0.82)),
    "grown by .05 at month 1": Scenario((0.85, 0.70)),
    "grown by .05 at month 6": Scenario((0.85, 0.75 - 0.05 * after(6))),
    "grown by .05 at month 12": Scenario((0.85, 0.75 - 0.05 * after(12))),
    "slow drift from .1 to .2": Scenario((0.85, 0.75 - 0.1 * np.arange(MONTHS) / (MONTHS - 1))),
    "from 0 to .3 at month 12": Scenario((0.85, 0.85 - 0.3 * after(12))),
    "shares of groups shift": Scenario((0.85, 0.75), share=(1.0, np.linspace(0.7, 0.1, MONTHS))),
    "base rates and both true rates fall": Scenario(
        (0.85 - 0.2 * after(12), 0.75 - 0.2 * after(12)), base=(0.4 - 0.1 * after(12), 0.3 - 0.1 * after(12))
    ),
    "seasonal: rates and shares together": Scenario(
        (0.8 + 0.1 * SEASON, 0.7 + 0.1 * SEASON), share=(0.6, 0.4 - 0.1 * SEASON)
    ),
    "few positives": Scenario((0.7, 0.6), (0.02, 0.02), (0.06, 0.04)),
    "few positives, the other group": Scenario((0.6, 0.7), (0.02, 0.02), (0.06, 0.04)),
    "rejected-heavy groups": Scenario((0.3, 0.2), (0.02, 0.02)),
    "score useless": Scenario((0.85, 0.75), score=1.0),
    "score hides missed positives": Scenario((0.85, 0.75), score=0.3),
    "10 % of one group's missed positives have no label": Scenario((0.85, 0.75), lost=0.1),
    "three groups": Scenario((0.85, 0.80, 0.75), (0.1, 0.1, 0.1), (0.4, 0.35, 0.3), (0.5, 0.3, 0.2)),
}
#: Every other metric at the tolerance, and three that somebody hostile thought of.
LATER = {
    "false positive rates": Scenario((0.85, 0.85), (0.2, 0.1), metric="fprp"),
    "equalized odds, both at the tolerance": Scenario((0.85, 0.75), (0.2, 0.1), metric="eo"),
    "ratio of true positive rates": Scenario((0.8, 0.72), metric="tpr-ratio"),
    "ratio of false positive rates": Scenario((0.85, 0.85), (0.2, 0.18), metric="fpr-ratio"),
    "selection rates": Scenario((0.8, 0.7), (0.2, 0.1), (0.5, 0.5), metric="dp"),
    "ratio of selection rates": Scenario((0.8, 0.75), (0.2, 0.15), (0.5, 0.5), metric="selection-ratio"),
    "months of 600 and 9,400 rows in turns": Scenario(
        (0.85, 0.75), rows=np.where(np.arange(MONTHS) % 2, 9400, 600)
    ),
    "a group of 2 % of the rows": Scenario((0.85, 0.75), share=(0.98, 0.02)),
    "1,000 labels in each month after doubt": Scenario((0.85, 0.75), in_doubt=1000),
}


@dataclass(frozen=True)
class Runs:
    """What was said in many runs of one scenario: arrays of shape (runs, months)."""

    refuted: np.ndarray
    renewed: np.ndarray
    certified: np.ndarray


def simulate(scenario, n, labels, seed=0):
    """Follow ``n`` models at once, through the lines of one :class:`Watch`."""
    rng, cells = np.random.default_rng(seed), scenario.cells()
    groups = [*"abc"[: cells.shape[1]]]
    watch = Watch(groups, metric=scenario.metric, labels=labels)
    of = np.arange(cells[0].size)
    group, decision, score, _ = (v.repeat(20) for v in np.unravel_index(of, cells.shape[1:]))
    watch.add(NAMES[0], decision, np.array(groups)[group], (score + 0.5) / BINS)  # says what the bins are
    size, told = (
        np.zeros((n, MONTHS, len(watch.layout.known))),
        np.zeros((3, n, MONTHS, len(watch.layout.known))),
    )
    ends, said = watch.levels(NAMES), {"refuted": [], "renewed": [], "certified": []}
    since, refuted, doubt = np.full(n, -1), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    rows = np.broadcast_to(scenario.rows, MONTHS)
    strata = cells[0].size // 2
    for i in range(MONTHS):
        each = rng.multinomial(rows[i], cells[i].ravel() / cells[i].sum(), n).reshape(n, *cells.shape[1:])
        lost = np.zeros_like(each)
        lost[:, -1, 0, :, 1] = rng.binomial(each[:, -1, 0, :, 1], scenario.lost)
        each -= lost
        kinds = np.stack([each[..., 0], each[..., 1], lost[..., 1]]).reshape(3, n, strata)
        size[:, i, :strata] = kinds.sum(axis=0)
        year = max(0, i - watch.valid_for)  # placed by what was found before this month
        before = Counts(size[:, year:i], *(told[v][:, year:i] for v in (1, 0, 2)))
        found = Counts(*(v[:, 0] for v in vars(together(before, [0])).values())) if i else None
        wanted = watch.place(size[:, i], labels, found)[:, :strata]
        if scenario.in_doubt is not None and doubt.any():
            more = watch.place(size[:, i], scenario.in_doubt, found)[:, :strata]
            wanted = np.where(doubt[:, None], more, wanted)
        if watch.needs_labels:
            told[:, :, i, :strata] = draw(kinds, wanted, rng)[0]
        else:
            told[1, :, i] = size[:, i]
        counts = Counts(size[:, : i + 1], *(told[v][:, : i + 1] for v in (1, 0, 2)))
        look = watch.look(NAMES[: i + 1], counts, ends[i])
        refuted, doubt = refuted | look.refuted, look.doubtful
        since = np.where(look.certified, i, since)
        said["refuted"].append(refuted)
        said["renewed"].append(look.certified & ~refuted)
        said["certified"].append((i - since < watch.valid_for) & ~look.doubtful & ~refuted)
    return Runs(**{name: np.array(v).T for name, v in said.items()})


def row_of(scenario, runs, labels):
    """One line of the table."""
    gaps = {(a, b): scenario.gap(slice(a, b)) for b in range(1, MONTHS + 1) for a in range(b)}
    highest = np.maximum.accumulate([max(gaps[a, b] for a in range(b)) for b in range(1, MONTHS + 1)])
    year = np.array([gaps[max(0, b - 12), b] for b in range(1, MONTHS + 1)])
    month = np.array([gaps[b - 1, b] for b in range(1, MONTHS + 1)])
    n = len(runs.refuted)
    when = np.where(runs.refuted.any(axis=1), runs.refuted.argmax(axis=1), MONTHS)
    false = (when < MONTHS) & (highest[np.minimum(when, MONTHS - 1)] <= TOLERANCE + 1e-9)
    wrong = (runs.renewed & (year > TOLERANCE + 1e-9)).any(axis=1)
    change = int(np.argmax(month > TOLERANCE + 1e-9))
    late, middle = month.max() > TOLERANCE + 1e-9, np.median(when)
    needed = f"{labels * (middle - change + 1):,.0f}" if late and middle < MONTHS else ""
    shares = [when < MONTHS, false, runs.renewed.any(axis=1), wrong]
    told = " | ".join(
        f"{100 * v.mean():.1f} ± {100 * np.sqrt(v.mean() * (1 - v.mean()) / n):.1f}" for v in shares
    )
    held, unearned = runs.certified.mean(), (runs.certified & (month > TOLERANCE + 1e-9)).mean()
    ends = " | ".join(f"{v:.2f}" for v in (month[0], month[-1]))
    return f"| {ends} | {told} | {100 * held:.0f} | {100 * unearned:.0f} | {needed} |"


def ceilings(scenario, power=0.8, delta=0.05):
    """Labels of one test of a fixed size, told the month of a change and the truth: what is possible."""
    cells = scenario.cells()[-1]
    excess = scenario.gap([-1]) - TOLERANCE
    positives = cells[..., 1]  # by group, decision and bin
    total = positives.sum(axis=(1, 2))[:, None, None]
    rate = positives.sum(axis=2, keepdims=True)[:, ::-1] / total  # the derivative's other decision
    found = {"uniform within groups": 0.0}
    for one, all_ in zip(positives, cells.sum(axis=-1), strict=True):
        p = one[1].sum() / one.sum()
        found["uniform within groups"] += p * (1 - p) * len(cells) * all_.sum() / one.sum()
    for name, bins in (("by group and decision", False), ("by group, decision and score", True)):
        rows, ones = cells.sum(axis=-1), positives
        if not bins:
            rows, ones = rows.sum(axis=2, keepdims=True), ones.sum(axis=2, keepdims=True)
        share = ones / rows
        found[name] = float((rows * rate / total * np.sqrt(share * (1 - share))).sum() ** 2)
    z = (norm.ppf(1 - delta) + norm.ppf(power)) / excess
    return {name: variance * z**2 for name, variance in found.items()}


def fresh_audits(labels):
    """What an audit each month would cost, of all rows of twelve months, and how often it decides."""
    print(
        "\n| true gap | fresh audit each month: labels | decides, % | watch: labels | share of that cost, % |"
    )
    print("|---:|---:|---:|---:|---:|")
    for gap in (0.0, 0.03, 0.05, 0.15, 0.2):
        rng, cells = np.random.default_rng(0), Scenario((0.85, 0.85 - gap)).cells()[0]
        each = rng.choice(cells.size, 12 * ROWS, p=cells.ravel() / cells.sum())
        group, decision, score, label = np.unravel_index(each, cells.shape)
        found = simulate_audit(
            label, decision, group, score=(score + 0.5) / BINS, n_audits=400, budget=4000, looks=10,
            target="population",
        )  # fmt: skip
        share = 100 * labels / found.mean_labels
        decided = 100 * (1 - found.undecided)
        print(f"| {gap} | {found.mean_labels:,.0f} | {decided:.0f} | {labels} | {share:.0f} |", flush=True)


#: Kinds of rows of Adult: a model is trained on those where a feature is at most its mean.
KINDS = {
    "no degree, then degrees": "education-num",
    "at most 40 hours a week, then more": "hours-per-week",
    "no manager, then managers and professionals": "occupation=Exec-managerial+occupation=Prof-specialty",
    "younger, then older": "age",
    "all but the private sector, then private sector": "workclass=Private",
}


def adult(runs, labels):
    """Models of one kind of Adult's rows, watched while another kind comes in from month 7 to month 18."""
    data = load("adult")
    share = np.clip((np.arange(1, MONTHS + 1) - 6) / 12, 0, 1)
    print(
        f"\n| Adult, {labels} labels a month | gap before | gap after | above {TOLERANCE} from month | ",
        end="",
    )
    print("refuted, % | in month (median) | falsely, % | months certified, % |\n|---|" + "---:|" * 7)
    for name, feature in KINDS.items():
        value = sum(data.X[:, data.feature_names.index(f)] for f in feature.split("+"))
        first = value <= value.mean()
        train, rest = np.split(np.random.default_rng(0).permutation(np.flatnonzero(first)), [4000])
        kinds = [rest, np.flatnonzero(~first)]
        scaler = StandardScaler().fit(data.X[train])
        X = scaler.transform(data.X)
        oracle = CalibratedFairOracle("linear", random_state=0)
        oracle.fit(X[train], data.y[train], data.groups[train])
        said = oracle.predict(X, sensitive_features=data.groups)
        score = LogisticRegression().fit(X[train], data.y[train]).predict_proba(X)[:, 1]
        both = np.concatenate(kinds)
        gaps = np.array([
            group_gap(
                data.y[both], said[both], data.groups[both],
                sample_weight=np.repeat([(1 - w) / len(kinds[0]), w / len(kinds[1])], [*map(len, kinds)]),
            )
            for w in share
        ])  # fmt: skip
        found, held = [], []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            watch = Watch(sorted(set(data.groups.tolist())), certified="2023-12", labels=labels)
            for month, w in zip(NAMES, share, strict=True):
                parts = [
                    rng.choice(k, round(v * ROWS), replace=False)
                    for k, v in zip(kinds, (1 - w, w), strict=True)
                ]
                rows = np.concatenate(parts)
                asked = watch.add(month, said[rows], data.groups[rows], score[rows])
                watch.tell(asked, data.y[rows][asked])
                standing = watch.standing()
                held.append(standing.verdict == "certified")
                if standing.verdict == "refuted":
                    break
            found.append(len(watch.months) if standing.verdict == "refuted" else MONTHS + 1)
        above = np.flatnonzero(gaps > TOLERANCE)
        start = above[0] + 1 if len(above) else MONTHS + 1
        refuted = np.array(found) <= MONTHS
        middle = np.median(found)
        print(
            f"| {name} | {gaps[0]:.3f} | {gaps[-1]:.3f} | {start if len(above) else ''} | "
            f"{100 * refuted.mean():.0f} | {f'{middle:.0f}' if middle <= MONTHS else ''} | "
            f"{100 * np.mean(refuted & (np.array(found) < start)):.0f} | "
            f"{100 * np.sum(held) / (runs * MONTHS):.0f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--labels", type=int, default=200)
    given = parser.parse_args()
    columns = (
        "gap in month 1", "in month 36", "refuted, %", "falsely, %", "certified again, %", "falsely, %",
        "months certified, %", "though above, %", "labels from change to refutation (median)",
    )  # fmt: skip
    print(f"| scenario | {' | '.join(columns)} |")
    print("|---|" + "---:|" * len(columns))
    for name, scenario in (SCENARIOS | LATER).items():
        print(
            f"| {name} {row_of(scenario, simulate(scenario, given.runs, given.labels), given.labels)}",
            flush=True,
        )
    print(f"\n{given.runs} runs per scenario (seed 0), {given.labels} labels a month, tolerance {TOLERANCE}.")
    told = (f"{n:,.0f} placed {how}" for how, n in ceilings(SCENARIOS["grown by .05 at month 12"]).items())
    print(f"One test of a fixed size of a gap of .15, told when to look (power 80 %): {'; '.join(told)}.")
    fresh_audits(given.labels)
    adult(max(given.runs // 50, 1), given.labels)
    print(machine_line())


if __name__ == "__main__":
    main()
