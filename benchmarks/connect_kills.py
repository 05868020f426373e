"""Label Studio, the studio and the connector are killed while 20 people label.

``python -m benchmarks.connect_kills [--kills 50] [--labels 200]``: each of the three is killed so many times
at random instants. Prints what was lost, doubled or wrong, and whether all draws and propensities are those
of the same study labelled without a connector. Needs the environment that ``make labelstudio`` makes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from fairask_studio import Study
from studio.tests.connect import labelstudio
from studio.tests.connect.killing import label_under_kills
from studio.tests.study.conftest import people_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--labels", type=int, default=200)
    given = parser.parse_args()
    table = people_table(2000)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, labelstudio.running(Path(scratch, "ls")) as server:
        settings = {"classes": ("bad", "good"), "batch_size": 20, "random_state": 3}
        study = Study.create(Path(scratch, "study"), table, protected="sex", budget=given.labels, **settings)
        with study:
            found = label_under_kills(server, study, table, given.kills, Path(scratch, "twin"))
    for name, value in vars(found).items():
        print(f"{name}: {value}")
    print(f"draws and propensities of {found.drawn} rows are the same; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
