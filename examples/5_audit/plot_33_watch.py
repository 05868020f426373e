"""
Watch a model that ages
=======================

A model was certified. It goes on deciding, and the people it decides on change. A few labels each month say whether the certificate
still holds.
"""

# %%
# Each month 3,000 people apply. In the tenth month the model begins to miss women who would repay: their true positive rate falls
# from 0.84 to 0.64, while that of men stays at 0.85.
import matplotlib.pyplot as plt
import numpy as np

from fairask.audit.watch import Watch

MONTHS = [f"{2024 + i // 12}-{i % 12 + 1:02d}" for i in range(24)]


def applications(rng, rate_of_women):
    groups = np.where(rng.random(3000) < 0.4, "women", "men")
    score = rng.beta(1, 1.5, 3000)
    y = (rng.random(3000) < score).astype(int)
    rate = np.where(y == 1, np.where(groups == "women", rate_of_women, 0.85), 0.1)
    return groups, score, y, (rng.random(3000) < rate).astype(int)


def follow(seed, before, after):
    rng, watch = np.random.default_rng(seed), Watch(["men", "women"], certified="2023-12", labels=200)
    for i, month in enumerate(MONTHS):
        groups, score, y, decided = applications(rng, before if i < 9 else after)
        rows = watch.add(month, decided, groups, score)  # 200 of 3,000 rows
        watch.tell(rows, y[rows])  # here people would label
    return watch


watch = follow(0, 0.84, 0.64)
print(watch.standing().headline())

# %%
# The dots are single months: each has 200 labels, which say little. The line is the last twelve months together, with its bounds.
# The model is refuted when the lower bound over the last 6, 12, 24 or all months passes the tolerance, which each of 36 months may do
# wrongly with a probability that makes 5 % of all of them together.
looks = watch.looks
gap, low, high = ([float(getattr(look, name)) for look in looks] for name in ("gap", "lower", "upper"))
refuted = next(i for i, look in enumerate(looks) if look.refuted)

fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot([float(look.month[0]) for look in looks], "o", color="#332288", alpha=0.4, label="one month")
ax.plot(gap, color="#332288", label="last 12 months")
ax.fill_between(range(24), low, high, color="#332288", alpha=0.15)
ax.axhline(0.1, color="#CC6677", linestyle="--", label="tolerance")
ax.axvline(refuted, color="#CC6677", linewidth=1, label=f"refuted in {MONTHS[refuted]}")
ax.set_xticks(range(0, 24, 6), MONTHS[::6])
ax.set(ylabel="gap in true positive rates", ylim=(0, 0.45))
ax.legend()
plt.show()

# %%
# Ten models whose gap stays exactly at the tolerance: at most 5 % of such models may ever be refuted.
found = [follow(seed, 0.75, 0.75).standing().verdict for seed in range(1, 11)]
print(found.count("refuted"), "of 10 were refuted")
