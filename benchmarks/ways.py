"""How many source files must be open to follow one way through the code: those whose functions run on it.

python -m benchmarks.ways
"""

from benchmarks._machine import machine_line

import contextlib
import inspect
import io
import os
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np

OURS = f"{os.sep}src{os.sep}fairask"
TABLE = "age,income,sex,score,repaid\n"


def traced(way):
    """Source files of both packages, and their functions, that run during ``way()``, on all threads."""
    functions = set()

    def note(frame, event, _):
        code = frame.f_code
        # Bodies of modules and classes run when they are imported, which is no part of the way.
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and OURS in code.co_filename:
            functions.add((code.co_filename, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        way()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted({name for name, _ in functions}), len(functions)


def table(folder):
    """Write a table of 400 people whose labels and predictions are known."""
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.integers(18, 80)},{rng.integers(10, 90)},{'fm'[i % 2]},{rng.integers(2)},{rng.integers(2)}\n"
        for i in range(400)
    ]
    file = Path(folder) / "people.csv"
    file.write_text(TABLE + "".join(rows))
    return str(file)


def command(*words):
    from typer.testing import CliRunner

    from fairask.cli._app import app

    def run():
        code = CliRunner().invoke(app, list(words)).exit_code
        assert code in (0, 3), code  # 3: an audit waits for labels

    return run


def ways(folder):
    """Yield the name of each way and a function that goes it."""
    from fairask import FairActiveLearner
    from fairask.datasets import load

    data = load("german")
    learner = FairActiveLearner(data.X, data.groups, random_state=0)
    first = learner.ask()
    learner.tell(first.indices, data.y[first.indices])
    second = []
    yield "second ask", lambda: second.append(learner.ask())
    rows = second[0].indices
    yield "tell", lambda: learner.tell(rows, data.y[rows])

    from fastapi.testclient import TestClient

    from fairask_studio import Study
    from fairask_studio.pages import create_app

    columns = {"age": [20, 30, 40, 50] * 10, "sex": ["f", "m"] * 20}
    study = Study.create(f"{folder}/s", columns, protected="sex", classes=("bad", "good"), random_state=0)
    headers = {"Authorization": f"Bearer {study.people.add('ada', 'owner')}"}
    study.draw(10)
    # Outside a with block, each request has threads of its own, which are traced.
    client = TestClient(create_app(study, local=False, train=False))
    row = client.post("/api/next", json={}, headers=headers).json()["cards"][0]["row"]

    def post():
        reply = client.post("/api/answers", json={"row": row, "label": "good"}, headers=headers)
        assert reply.status_code == 201, reply.text

    yield "POST /api/answers", post
    study.close()
    people = table(folder)
    audit = command("audit", people, "--predictions", "score", "--protected", "sex", "--budget", "100")
    yield "fairask audit, first step", audit
    asked = ("--label", "repaid", "--protected", "sex", "--budget", "50", "--trials", "1", "--jobs", "1")
    yield "fairask simulate, one trial", command("simulate", people, *asked)


def main():
    print("| way | files | functions |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, way in ways(folder):
            with contextlib.redirect_stderr(io.StringIO()):
                files, functions = traced(way)
            print(f"| {name} | {len(files)} | {functions} |", flush=True)
            if "-v" in sys.argv:
                print("\n".join(files))
    print(f"\n{machine_line()}")


if __name__ == "__main__":
    main()
