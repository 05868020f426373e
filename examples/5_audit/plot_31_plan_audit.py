"""
What an audit's budget buys
===========================

Before you pay for an audit, simulate it: on last year's table, with known labels, hundreds of audits show how often one would be
decided, and after how many labels.
"""

# %%
# A generated table of decisions whose true positive rates differ by 0.02.
import matplotlib.pyplot as plt
import numpy as np

from fairask.audit import simulate_audit

rng = np.random.default_rng(0)
n = 10_000
groups = np.where(rng.random(n) < 0.6, "men", "women")
y = (rng.random(n) < 0.6).astype(int)
decided = (rng.random(n) < np.where(y == 1, np.where(groups == "men", 0.87, 0.85), 0.3)).astype(int)

# %%
# One simulation per budget.
budgets = [150, 300, 450, 600, 800]
results = [simulate_audit(y, decided, groups, budget=budget, n_audits=200) for budget in budgets]

fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(budgets, [100 * r.certified for r in results], marker="o", color="#332288")
ax.set(xlabel="budget of the audit, labels", ylabel="audits that certify, %", ylim=(0, 102))
plt.show()
