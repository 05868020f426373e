"""The same row in Label Studio and in the studio's view of rows, for the documentation.

``python -m benchmarks.connect_pictures [--to docs/img]`` writes two pictures. Needs the environment that
``make labelstudio`` makes, and chromium.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from fairask_studio.connect import Connector
from fairask_studio.connect.connector import Link, ensure_link
from fairask_studio.connect.labelstudio import LabelStudioTool, connect_project, open_client
from fairask_studio.pages import create_app
from fairask_studio import Study
from studio.tests.connect import labelstudio
from studio.tests.connect.labelstudio import ANNOTATORS, OWNER, Server, token_of
from studio.tests.pages.serving import serving
from studio.tests.study.conftest import people_table

_SIZE = {"width": 1200, "height": 640}


def picture_of_task(browser: Browser, server: Server, project: int, task: int, file: Path) -> None:
    page = browser.new_page(viewport=_SIZE)
    page.goto(f"{server.url}/user/login/")
    page.fill("input[name=email]", ANNOTATORS[0])
    page.fill("input[name=password]", "a-long-password")
    page.click("button[type=submit]")
    page.wait_for_url(lambda url: "login" not in url)
    page.goto(f"{server.url}/projects/{project}/data?task={task}")
    page.get_by_text("good", exact=False).first.wait_for(timeout=60_000)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=file)
    page.close()


def picture_of_row(browser: Browser, study: Study, file: Path) -> None:
    with serving(create_app(study, train=False)) as address:
        page = browser.new_page(viewport=_SIZE)
        page.goto(f"{address}/rows")
        page.get_by_text("(labelstudio)").first.wait_for()
        page.screenshot(path=file)
        page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/img"))
    to = parser.parse_args().to
    settings = {"classes": ("bad", "good"), "question": "Was the loan repaid?", "random_state": 3}
    with (
        tempfile.TemporaryDirectory() as scratch,
        labelstudio.running(Path(scratch, "ls")) as server,
        Study.create(Path(scratch, "study"), people_table(), protected="sex", **settings) as study,
        open_client(server.url, token_of(OWNER)) as client,
        sync_playwright() as playwright,
    ):
        study.draw(3)
        link = Link("labelstudio", "labelstudio", server.url)
        link = replace(link, project=connect_project(client, study, "Loans", link))
        ensure_link(study, link, "owner")
        connector = Connector(study, LabelStudioTool(study, link, client))
        connector.step()
        project = int(link.project or 0)
        task = server.owner.tasks(project)[0]["id"]
        (ada,) = labelstudio.people(server, 1)
        ada.annotate(task, "good")
        connector.step()
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        picture_of_task(browser, server, project, task, to / "connect-labelstudio.png")
        picture_of_row(browser, study, to / "connect-rows.png")
        browser.close()


if __name__ == "__main__":
    main()
