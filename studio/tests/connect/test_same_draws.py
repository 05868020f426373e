from collections.abc import Callable
from pathlib import Path

import pytest

from fairask_studio import Study
from fairask_studio.connect.connector import Connector, Link, ensure_link, finish
from fairask_studio.connect.webhook import WebhookTool
from fairask_studio.tools import OutsideAnswer
from studio.tests.connect.conftest import SECRET, Receiver
from studio.tests.connect.twin import same_draws
from studio.tests.study.conftest import people_table, truth


@pytest.mark.slow
def test_a_connector_changes_no_draw_of_training_or_audit(
    make: Callable[..., Study], receiver: Receiver, tmp_path: Path
) -> None:
    table = people_table()
    labels, study = truth(table), make(budget=30)
    link = Link("webhook", "webhook", receiver.url)
    ensure_link(study, link, "owner")
    work = Connector(study, WebhookTool(study, link, SECRET))
    certificate = None
    while certificate is None:
        study.draw()
        work.step()
        open_rows = [row for row in receiver.rows if not study.state().answers.get(row)]
        answers = [
            OutsideAnswer(f"a{row}", 1, row, "ada", labels[row], receiver.rows[row]["check"])
            for row in open_rows
        ]
        wrong = [OutsideAnswer(f"w{row}", 1, row, "bob", "good", "k0") for row in open_rows[:1]]
        study.receive("webhook", wrong + answers)
        study.refit()
        certificate = finish(study, 20, "owner")
    assert sum(e.kind in ("linked", "sent", "refused") for e in study.store.events()) > 5
    assert same_draws(study, table, tmp_path / "twin") >= 40
