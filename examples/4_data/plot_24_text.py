"""
Comments: a column of text
==========================

A column of free text trains the model too. It becomes n-grams of words and characters, and their main directions become features.
Here comments are moderated, and speakers of a dialect must not be blocked more often than others without reason.
"""

# %%
# Made-up comments. Half of the speakers of the dialect use a harsh word among friends.
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

from fairask import FairActiveLearner, group_rates
from fairask.report import group_color
from fairask.tables import fit_encoder

rng = np.random.default_rng(0)
everyday = (
    "match goal recipe butter vote budget album guitar flight hotel this that with about think really".split()
)
insults, harsh = ["idiot", "moron", "loser", "clown"], ["damn", "crap", "nasty"]
dialect = {"this": "dis", "that": "dat", "with": "wit", "about": "bout", "really": "hella"}
n = 2000
groups = np.where(rng.random(n) < 0.3, "dialect", "standard")
y = (rng.random(n) < 0.35).astype(int)
comments = []
for group, rude in zip(groups, y, strict=True):
    words = list(rng.choice(everyday, 9)) + list(rng.choice(insults, rng.binomial(2, 0.45 if rude else 0.02)))
    words += list(rng.choice(harsh, rng.binomial(1, 0.5 if group == "dialect" else 0.2 + 0.2 * rude)))
    words = [dialect.get(word, word) for word in words] if group == "dialect" else words
    comments.append(" ".join(rng.permutation(words)))
table = pa.table({"comment": comments, "hour": rng.integers(0, 24, n)})
print(comments[0])

# %%
# ``fit_encoder`` recognises text by itself. ``fairask new`` and ``fairask simulate`` do the same with a file.
encoder = fit_encoder(table)
X = encoder.transform(table)
print(X.shape, encoder.feature_names_out[:2])

# %%
# The rate that must be alike is that of false alarms: comments that are blocked although they are harmless.
learner = FairActiveLearner(X, groups, metric="fprp", tolerance=0.1, batch_size=100, random_state=0)
for _ in range(4):
    query = learner.ask()
    learner.tell(query.indices, y[query.indices])
blocked = learner.model_.predict(X, sensitive_features=groups)
rates = group_rates(y, blocked, groups)

fig, axes = plt.subplots(1, 2, figsize=(7, 2.6), layout="constrained", sharey=True)
for ax, label, title in zip(axes, (1, 0), ("rude comments", "harmless comments"), strict=True):
    ax.barh(list(rates.groups), rates.conditioned(label), color=[group_color(0), group_color(1)])
    ax.set(xlim=(0, 1), title=title, xlabel="share that is blocked")
plt.show()
