import time

import pytest

from fairask.errors import UserError
from fairask_studio.connect import SignatureError, new_secret, sign, verify_signature


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
