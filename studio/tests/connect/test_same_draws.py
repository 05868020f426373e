from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairask_studio.study as module
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


def test_answers_that_come_while_rows_are_drawn_do_not_blur_what_the_drawing_knew(
    make: Callable[..., Study], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = people_table()
    labels, study = truth(table), make(budget=30)
    first = study.ask()
    propose = module._propose

    def slow(*given: Any) -> Any:
        study.tell(first, [labels[row] for row in first])
        return propose(*given)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_propose", slow)
        study.draw()
    told, drawn = study.store.events()[-2:]
    assert (told.kind, drawn.kind) == ("labelled", "proposed")
    again = study.learner(at=drawn.data["seen"]).ask(10)
    assert again.indices.tolist() == drawn.data["rows"]
    assert study.learner(at=told.id).ask(10).indices.tolist() != drawn.data["rows"]
    assert same_draws(study, table, tmp_path / "twin") == 20
