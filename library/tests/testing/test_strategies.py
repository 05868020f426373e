"""The suite catches strategies that break the contract."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from fairask.sampling import Proposal
from fairask.strategies import Passive
from fairask.strategies.strategy import uniform_proposal
from fairask.testing import check_strategy

pytestmark = pytest.mark.usefixtures("few_trees")


@dataclass(frozen=True)
class Broken(Passive):
    name: ClassVar[str] = "broken"


@dataclass(frozen=True)
class OutsideThePool(Broken):
    def propose(self, labelled, pool, fit, rng):
        return Proposal(pool.everything(), ranking=labelled.indices)


@dataclass(frozen=True)
class TooMuch(Broken):
    def propose(self, labelled, pool, fit, rng):
        proposal = uniform_proposal(pool)
        return replace(proposal, components={"uniform": 2.0 * proposal.components["uniform"]})


@dataclass(frozen=True)
class Remembers(Broken):
    calls: list = field(default_factory=list, repr=False)

    def propose(self, labelled, pool, fit, rng):
        self.calls.append(1)
        return Proposal(pool.everything(), ranking=np.roll(pool.rows, len(self.calls)))


@dataclass(frozen=True)
class Careless(Broken):
    def propose(self, labelled, pool, fit, rng):
        labelled.y[0] = 1.0 - labelled.y[0]
        return uniform_proposal(pool)


@dataclass(frozen=True)
class LikesGroupZero(Broken):
    def propose(self, labelled, pool, fit, rng):
        order = np.argsort(pool.groups[pool.rows], kind="stable")
        return Proposal(pool.everything(), ranking=pool.rows[order])


@dataclass(frozen=True)
class NeedsManyRows(Broken):
    def propose(self, labelled, pool, fit, rng):
        return Proposal(pool.everything(), ranking=pool.rows if len(pool) > 3 else pool.rows[:1])


@dataclass(frozen=True)
class OnlyTwoGroups(Broken):
    def propose(self, labelled, pool, fit, rng):
        cells = pool.by_group()
        share = np.full(cells.counts.shape, 0.5)
        return Proposal(cells, {"fair": share / cells.counts}, {"fair": 1.0})


@dataclass(frozen=True)
class AcceptsAnything(Broken):
    share: float = 0.5


@dataclass
class Changeable:
    name: str = "changeable"
    propose = Passive.propose


@pytest.mark.parametrize(
    ("strategy", "check"),
    [
        (OutsideThePool(), "proposes_a_distribution"),
        (TooMuch(), "proposes_a_distribution"),
        (Remembers(), "same_seed_same_proposal"),
        (Careless(), "leaves_its_arguments_alone"),
        (Changeable(), "is_immutable"),
        (LikesGroupZero(), "group_names_do_not_matter"),
        (OnlyTwoGroups(), "three_groups"),
        (NeedsManyRows(), "tiny_pools"),
        (AcceptsAnything(), "settings_are_checked"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_strategy_fails(strategy, check):
    with pytest.raises(AssertionError, match=f"^{check}: "):
        check_strategy(strategy)


@pytest.mark.slow
def test_the_suite_needs_no_test_framework():
    import subprocess
    import sys

    code = "import sys, fairask.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
