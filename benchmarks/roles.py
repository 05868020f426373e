"""Every route of the studio times every role and every method: who is let in.

``python -m benchmarks.roles``: asks for each route of a study and of the home page as anonymous, annotator,
reviewer, owner, owner of another study, program, removed or expired person and ended session, and compares
the answers with the table in ``studio/tests/pages/test_roles.py``. Ends with 1 if one differs.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from fastapi import FastAPI
from studio.tests.pages import test_roles as roles
from studio.tests.study.conftest import people_table

from fairask_studio import Study
from fairask_studio.pages import create_app
from fairask_studio.pages.home import create_home
from fairask_studio.store.store import Store


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        study, first, second = (
            Study.create(f"{folder}/{name}", people_table(), protected="sex", classes=("bad", "good"))
            for name in ("study", "first", "second")
        )
        Path(folder, "home").mkdir()
        Store.create_people(f"{folder}/home").close()
        app, home = create_app(study, local=False, train=False), create_home(f"{folder}/home", local=False)
        cases: list[tuple[str, FastAPI, Store, Study, dict[str, str]]] = [
            ("study", app, study.store, first, roles.expected(roles.STUDY, roles.STUDY_PAGES)),
            ("home", home, home.state.access.store, second, roles.expected(roles.HOME, roles.HOME_PAGES)),
        ]
        for name, served, store, other, known in cases:
            who = roles.visitors(served, store, other.store)
            asked, wrong = asyncio.run(roles.refusals(known, who))
            absent = {route for route in roles.routes(served) if route not in known and "{view}" not in route}
            wrong += [f"{route} is not in the table" for route in sorted(absent)]
            size = f"{len(known)} routes, {len(who)} visitors, {asked} requests"
            print(f"{name:6} {size}: {len(wrong)} answered otherwise than the table says")
            print("\n".join(wrong))
            failed |= bool(wrong)
        for opened in (study, first, second):
            opened.close()
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
