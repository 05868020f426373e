"""The core needs numpy, scipy and scikit-learn only."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

CODE = """
import sys

class Refuse:
    extras = {"matplotlib", "pandas", "pyarrow", "typer", "rich", "pooch", "requests", "tqdm", "jinja2",
              "torch", "fairlearn", "dask", "ray", "sqlalchemy", "fastapi", "cvxpy", "polars"}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
import fairask
from fairask.datasets import load

data = load("german")
learner = fairask.FairActiveLearner(data.X, data.groups, random_state=0)
fairask.simulate(learner, data.y, 50)
print(len(learner.labels_))
"""


def test_the_core_runs_with_no_extra_installed():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "50"


def test_a_table_of_the_package_is_read_without_scikit_learn():
    code = "import sys; from fairask.datasets import load; load('german'); print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
