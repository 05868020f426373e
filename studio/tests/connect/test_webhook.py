"""Webhooks: rows and events go out signed, answers come in."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.connect import Connector, WebhookTool
from fairask_studio.connect.connector import Link, ToolUnreachable, ensure_link
from fairask_studio.connect.webhook import SignatureError, Webhooks, new_secret, sign, verify_signature
from fairask_studio.pages import create_app
from studio.tests.connect.conftest import SECRET, Receiver
from studio.tests.pages.conftest import signed
from studio.tests.study.conftest import people_table, truth


@pytest.fixture
def study(make: Callable[..., Study]) -> Study:
    made = make()
    made.draw(10)
    return made


def connector(study: Study, receiver: Receiver, **options: bool) -> Connector:
    link = Link("webhook", "webhook", receiver.url, None, **options)
    ensure_link(study, link, "owner")
    return Connector(study, WebhookTool(study, link, SECRET))


def test_only_drawn_rows_go_out_once_and_without_the_protected_column(
    study: Study, receiver: Receiver
) -> None:
    work = connector(study, receiver)
    assert work.send() == 10
    assert set(receiver.rows) == {entry.index for entry in study.state().log.entries}
    for row in receiver.rows.values():
        assert set(row["fields"]) == {"income", "debt", "job"}
        assert row["check"] == study.row_codes([row["row"]])[row["row"]]
    assert "sex" not in json.dumps(receiver.bodies)
    assert receiver.bodies[0]["data"]["classes"] == ["bad", "good"]
    assert work.send() == 0
    study.draw(5)
    assert work.send() == 5
    assert len(receiver.messages) == 2
    with_protected = connector(study, receiver, protected=True)
    study.draw(5)
    with_protected.send()
    assert "sex" in receiver.bodies[-1]["data"]["rows"][0]["fields"]


def test_a_message_keeps_its_identity_until_it_arrives(study: Study, receiver: Receiver) -> None:
    work = connector(study, receiver)
    receiver.codes = [503, 429]
    with pytest.raises(ToolUnreachable, match="503"):
        work.send()
    with pytest.raises(ToolUnreachable, match="429") as busy:
        work.send()
    assert busy.value.wait == 7.0
    # Killed after the message arrived and before that was written down: it goes out again as it was.
    rows = [entry.index for entry in study.state().log.entries]
    work._send(rows)
    study.lease("ada", 10)
    study.tell(rows[:4], ["good"] * 4, "ada")
    work.send()
    assert len(receiver.messages) == 2
    assert len(set(receiver.messages)) == 1


def test_pauses_grow_after_failures_and_end_with_success(study: Study, receiver: Receiver) -> None:
    said: list[str] = []
    work = connector(study, receiver)
    work.say = said.append
    receiver.codes = [500] * 12
    pauses = [work.try_step() for _ in range(12)]
    assert all(0.5 * 2**i <= pause <= 2**i for i, pause in enumerate(pauses[:8]))
    assert max(pauses) <= 300
    assert "trying again" in said[0]
    assert work.try_step() == work.seconds
    assert work.failures == 0


@pytest.mark.parametrize(("code", "word"), [(404, "404"), (410, "no more"), (401, "401"), (302, "302")])
def test_what_does_not_pass_ends_the_connector_and_loses_nothing(
    study: Study, receiver: Receiver, code: int, word: str
) -> None:
    work = connector(study, receiver)
    receiver.codes = [code]
    with pytest.raises(UserError, match=word):
        work.step()
    assert connector(study, receiver).send() == 10


def test_answers_come_in_with_a_token_or_a_signature(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    token = ensure_link(study, Link("webhook", "webhook", "https://example.org"), "owner")
    rows = [entry.index for entry in study.state().log.entries]
    codes = study.row_codes(rows)

    def body(number: int, label: str | None = "good", **more: object) -> bytes:
        row = rows[number]
        given = {"id": str(number), "row": row, "check": codes[row], "who": "ada", "label": label, **more}
        return json.dumps({"answers": [given]}).encode()

    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        place, mine = "/api/connect/webhook/answers", {"Authorization": f"Bearer {token}"}
        assert client.post(place, content=body(0)).status_code == 401
        wrong = client.post(place, content=body(0), headers={"Authorization": "Bearer wrong"})
        assert wrong.status_code == 401
        taken = client.post(place, content=body(0), headers=mine)
        assert (taken.status_code, taken.json()["new"]) == (201, 1)
        again = client.post(place, content=body(0), headers=mine).json()
        assert (again["new"], again["known"]) == (0, 1)
        other = client.post(place, content=body(0, "bad"), headers=mine).json()
        assert other["refused"] == 1
        assert "has said" in other["reasons"][0]
        assert client.post(place, content=body(0, "bad", version=2), headers=mine).json()["corrected"] == 1
        assert client.post(place, content=body(0, deleted=True), headers=mine).json()["withdrawn"] == 1
        assert client.post(place, content=body(2, None), headers=mine).json()["new"] == 1
        for odd in (b"[]", b"no", b'{"answers": [{"id": "1"}]}', b'{"answers": 3}'):
            assert client.post(place, content=odd, headers=mine).status_code in (400, 422)
        assert client.post("/api/connect/other/answers", content=body(1), headers=mine).status_code == 401

        unknown = client.post(place, content=body(1), headers=sign(SECRET, "m1", body(1)))
        assert unknown.status_code == 401
        monkeypatch.setenv("FAIRASK_WEBHOOK_SECRET", SECRET)
        message = sign(SECRET, "m1", body(1))
        assert client.post(place, content=body(1), headers=message).json()["new"] == 1
        assert client.post(place, content=body(1), headers=message).json()["known"] == 1  # replayed
        assert client.post(place, content=body(3), headers=message).status_code == 401  # another body
        late = client.post(place, content=body(3), headers=sign(SECRET, "m2", body(3), at=1e9))
        assert late.status_code == 401
        assert "seconds old" in late.json()["detail"]

        owner = signed(client)
        listed = owner.get("/api/connect").json()
        assert (listed[0]["taken"], len(listed[0]["refused"])) == (2, 0)
        shown = {row["row"]: row for row in owner.get("/api/rows").json()["rows"]}
        assert shown[rows[1]]["via"] == {"ada": "webhook"}


def test_a_renewed_token_ends_the_old_one(study: Study) -> None:
    link = Link("webhook", "webhook", "https://example.org")
    first = ensure_link(study, link, "owner")
    assert ensure_link(study, link, "owner") == ""
    second = ensure_link(study, link, "owner", renew=True)
    with TestClient(create_app(study, train=False), base_url="http://localhost") as client:
        place = "/api/connect/webhook/answers"
        for token, status in ((first, 401), (second, 201)):
            headers = {"Authorization": f"Bearer {token}"}
            assert client.post(place, json={"answers": []}, headers=headers).status_code == status
    for event in study.store.events():
        assert first not in json.dumps(event.data)
        assert second not in json.dumps(event.data)


def test_a_link_stays_with_its_tool_and_server(study: Study) -> None:
    ensure_link(study, Link("labelstudio", "labelstudio", "https://a.example.org", 1), "owner")
    ensure_link(study, Link("labelstudio", "labelstudio", "https://a.example.org", 2), "owner")
    assert study.state().outside.links["labelstudio"].project == 2
    with pytest.raises(UserError, match="another name"):
        ensure_link(study, Link("labelstudio", "labelstudio", "https://b.example.org", 1), "owner")
    with pytest.raises(UserError, match="is one of labelstudio"):
        ensure_link(study, Link("labelstudio", "webhook", "https://a.example.org"), "owner")
    for name in ("", "A b", "x" * 33, "a/b"):
        with pytest.raises(UserError, match="name"):
            ensure_link(study, Link(name, "webhook", "https://a.example.org"), "owner")


pytestmark = pytest.mark.usefixtures("few_trees")


LABELS = truth(people_table())


@pytest.fixture
def listener() -> Iterator[tuple[str, list[dict[str, Any]]]]:
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
    make: Callable[..., Study], listener: tuple[str, list[dict[str, Any]]]
) -> None:
    address, got = listener
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


def test_the_signature_of_the_specification_s_example() -> None:
    # The example of the specification's reference implementations.
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    signed = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", body, at=1614265330)
    assert signed["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_wrong_signatures_are_refused() -> None:
    secret = new_secret()
    headers = sign(secret, "msg_1", b"{}")
    assert verify_signature(secret, headers, b"{}") == "msg_1"
    assert verify_signature(secret, {name.title(): value for name, value in headers.items()}, b"{}")
    for name, value in (
        ("webhook-id", "msg_2"),
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", ""),
        ("webhook-timestamp", "soon"),
        ("webhook-timestamp", "9" * 30),
    ):
        with pytest.raises(SignatureError):
            verify_signature(secret, {**headers, name: value}, b"{}")
    with pytest.raises(SignatureError, match="wrong"):
        verify_signature(new_secret(), headers, b"{}")
    with pytest.raises(SignatureError, match="wrong"):
        verify_signature(secret, headers, b'{"more": 1}')


def test_late_messages_are_refused_and_a_replaced_secret_still_counts() -> None:
    secret, old, now = new_secret(), new_secret(), float(int(time.time()))
    for apart in (-400, 400):
        with pytest.raises(SignatureError, match=r"400 seconds"):
            verify_signature(secret, sign(secret, "m", b"", at=now - apart), b"", now=now)
    both = sign(secret, "m", b"")
    both["webhook-signature"] = sign(old, "m", b"")["webhook-signature"] + " " + both["webhook-signature"]
    assert verify_signature(secret, both, b"") == "m"


@pytest.mark.parametrize("secret", ["whsec_short", "whsec_AAAA", "not base64!", ""])
def test_secrets_that_can_be_guessed_are_refused(secret: str) -> None:
    with pytest.raises(UserError, match="secret"):
        sign(secret, "m", b"")
