"""Webhooks tell other programs what happens, signed, and give up on those that do not answer."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fairask_studio import Study, StudyError
from fairask_studio.connect import new_secret, verify_signature
from fairask_studio.connect.webhook import Webhooks
from studio.tests.study.conftest import people_table, truth

pytestmark = pytest.mark.usefixtures("few_trees")

LABELS = truth(people_table())
SECRET = new_secret()


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A web server that keeps what it gets, after one refusal."""
    got: list[dict[str, Any]] = []
    refused = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = 200 if refused else 503
            if refused:
                message = verify_signature(SECRET, dict(self.headers.items()), body)
                got.append(json.loads(body))
                assert message == f"msg_{got[-1]['id']}_{got[-1]['event']}"
            refused.append(1)
            self.send_response(status)  # last: whoever sent it looks at what was kept
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook", got
    server.shutdown()
    server.server_close()


def test_what_happens_is_told_once_and_signed(
    make: Callable[..., Study], receiver: tuple[str, list[dict[str, Any]]]
) -> None:
    address, got = receiver
    study = make(budget=40, batch_size=40)
    hooks = Webhooks(study, [address], SECRET, pause=0.01)
    hooks.step()
    rows = study.ask(40, "ada")
    study.tell(rows, [LABELS[row] for row in rows], "ada")
    study.refit()
    hooks.step()
    hooks.step()  # nothing new
    assert [message["event"] for message in got] == ["created", "labelled", "trained", "done"]
    assert got[1]["labels"][0] == {"row": rows[0], "label": LABELS[rows[0]], "who": "ada"}
    assert got[2]["model"]["labels"] == 40
    later = Webhooks(study, [address], SECRET, pause=0.01)
    later.step()
    assert len(got) == 4  # after a restart, what is new


def test_a_receiver_that_is_away_holds_nothing_up(make: Callable[..., Study]) -> None:
    study = make(budget=20)
    hooks = Webhooks(study, ["http://127.0.0.1:9/hook"], pause=0.001)
    hooks.step()  # given up, and logged
    with pytest.raises(StudyError, match="is not an address"):
        Webhooks(study, ["example.org"])
