"""
One annotator is harsh on a group
=================================

Five people label. One of them says no to 40 % of the women who deserve yes, and so hides a gap: audited with
these labels as they are, an unfair model looks fair. Gold rows show who errs, and how often a label is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairask.audit import Audit
from fairask.people import People

rng = np.random.default_rng(0)
names = np.array(["Ann", "Bob", "Cem", "Dee", "Eva"])


def said(person, group, right):
    harsh = (person == "Ann") & (group == "F") & (right == 1)
    return np.where(rng.random(len(right)) < np.where(harsh, 0.4, 0.05), 1 - right, right)


# %%
# Five people answer 400 gold rows, whose right answer is known, and three of them 600 other rows.

right, group = rng.integers(0, 2, 1000), rng.choice(["F", "M"], 1000)
row = np.concatenate([np.repeat(np.arange(400), 5), np.repeat(np.arange(400, 1000), 3)])
person = np.concatenate([names[rng.permutation(5)[: 5 if r < 400 else 3]] for r in range(1000)])
answers = {
    "row": row,
    "person": person,
    "group": group[row],
    "answer": said(person, group[row], right[row]),
    "truth": [int(right[r]) if r < 400 else None for r in row],
}
people = People.from_answers(answers)
for suspicion in people.suspects():
    print(suspicion.words)

# %%
# Each person's errors, with intervals of 95 %.

errors = [e for e in people.errors() if e.group == "F" and e.label == 1]
fig, ax = plt.subplots(figsize=(6, 2.6))
for y, e in enumerate(errors):
    ax.plot([e.low, e.high], [y, y], color="C0")
    ax.plot(e.wrong, y, "o", color="C0")
ax.set_yticks(range(len(errors)), [e.person for e in errors])
ax.set(xlabel="says no, though yes is right (F)", xlim=(0, 0.6))
fig.tight_layout()

# %%
# A model whose false positive rate is .25 for men and .12 for women, which is more than the tolerance of .1
# apart. One person labels each row of the audit. Labels that are taken as right hide the gap, and what gold
# rows say brings it back.

n = 20000
truth, groups = rng.integers(0, 2, n), rng.choice(["F", "M"], n)
positive = np.where(truth == 1, 0.85, np.where(groups == "M", 0.25, 0.12))
predictions = (rng.random(n) < positive).astype(int)
labels = said(rng.choice(names, n), groups, truth)
for words, noise in (("as they are", 0.0), ("with what gold rows say", people.label_errors())):
    audit = Audit(predictions, groups, metric="fprp", budget=4000, looks=1, noise=noise, random_state=0)
    rows = audit.ask().indices
    audit.tell(rows, labels[rows])
    found = audit.certificate()
    print(f"{words}: {found.verdict}, between {found.lower:.3f} and {found.upper:.3f}")
