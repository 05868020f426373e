"""Ten thousand tasks in a real Label Studio.

``python -m benchmarks.connect_tasks [--tasks 10000]``: seconds to send them, to look at all of them, and to
take annotations afterwards. Needs the environment that ``make labelstudio`` makes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairask_studio.connect import Connector
from fairask_studio.connect.connector import Link, ensure_link
from fairask_studio.connect.labelstudio import _OVERLAP, LabelStudioTool, connect_project, open_client
from fairask_studio import Study
from studio.tests.connect import labelstudio
from studio.tests.connect.labelstudio import OWNER, token_of
from studio.tests.study.conftest import people_table


def timed(words: str, call: Callable[[], Any]) -> Any:
    began = time.monotonic()
    found = call()
    print(f"{words}: {found} in {time.monotonic() - began:.1f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    count = parser.parse_args().tasks
    settings = {"classes": ("bad", "good"), "random_state": 3, "budget": count, "strategy": "passive"}
    with (
        tempfile.TemporaryDirectory() as scratch,
        labelstudio.running(Path(scratch, "ls")) as server,
        Study.create(Path(scratch, "study"), people_table(count + 500), protected="sex", **settings) as study,
        open_client(server.url, token_of(OWNER)) as client,
    ):
        study.draw(count)
        link = Link("labelstudio", "labelstudio", server.url)
        link = replace(link, project=connect_project(client, study, "many", link))
        ensure_link(study, link, "owner")
        work = Connector(study, LabelStudioTool(study, link, client))
        timed("sent", work.send)
        timed("all tasks looked at", lambda: work.collect().counts())
        (ada,) = labelstudio.people(server, 1)
        for words in ("first annotation (the import is read again)", "annotation afterwards"):
            time.sleep(_OVERLAP + 5)  # what was changed so long ago is not read again
            task = ada.next(int(link.project or 0))
            assert task is not None
            ada.annotate(task["id"], "good")
            assert timed(words, lambda: work.collect().counts())["new"] == 1


if __name__ == "__main__":
    main()
