"""Signatures: what a forger may try is refused, and audits of one model are counted."""

from __future__ import annotations

import base64
import copy
import csv
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fairask.audit import Audit, Certificate, issue
from fairask.audit.certificate import seal, written
from fairask.audit.signature import OwnerKey, Register, new_key, read_public, signature_problems
from fairask.audit.verification import changes, check_issued
from fairask.cli._app import app
from fairask.errors import UserError


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def write(path: Path, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    y = rng.random(1200) < 0.6
    said, other = (rng.random(1200) < np.where(y, 0.85, 0.2) for _ in range(2))
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = zip(
            ["fm"[i % 2] for i in range(1200)],
            said.astype(int),
            other.astype(int),
            y.astype(int),
            strict=True,
        )
        csv.writer(stream).writerows([["sex", "said", "other", "y"], *rows])
    return path


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, two keys, and a signed audit of it."""
    folder = tmp_path_factory.mktemp("signed")
    table = write(folder / "t.csv")
    for name in ("owner", "other"):
        new_key(folder / name)
    columns = ("--predictions", "said", "--protected", "sex", "--known", "y", "--out", folder / "t.audit")
    done = run("audit", table, *columns, "--sign", folder / "owner")
    assert done.exit_code in (0, 3), done.output
    return folder


@pytest.fixture
def forged(signed: Path, tmp_path: Path) -> Path:
    """A copy of the audit's folder to be changed."""
    return shutil.copytree(signed / "t.audit", tmp_path / "t.audit")


def load(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "certificate.json").read_text("utf-8"))
    return found


def save(folder: Path, document: dict[str, Any]) -> Path:
    for page in ("certificate.txt", "certificate.html"):
        (folder / page).unlink(missing_ok=True)
    (folder / "certificate.json").write_text(written(document), encoding="utf-8")
    return folder


def better(document: dict[str, Any]) -> dict[str, Any]:
    """The same certificate with a smaller bound, and every digest and the seal computed again."""
    changed = copy.deepcopy(document)
    for name, one in changed["certificates"].items():
        one = {**one, "upper": one["estimate"] + 0.001, "verdict": "certified", "more_labels": 0}
        changed["certificates"][name] = issue(Certificate.from_dict(one))
    return seal({**changed, "verdict": "certified"})


def test_a_signed_certificate_is_accepted_with_the_key_of_its_owner(signed: Path) -> None:
    done = run("verify", signed / "t.audit", signed / "t.csv", "--key", signed / "owner.pub")
    assert (done.exit_code, "signed by SHA256:" in done.output) == (0, True), done.output
    assert "nobody compared" in run("verify", signed / "t.audit").output
    # The key itself may be given instead of its file.
    assert (
        run("verify", signed / "t.audit", "--key", (signed / "owner.pub").read_text().strip()).exit_code == 0
    )
    assert load(signed / "t.audit")["digests"].keys() == {"table", "model", "labels"}


def test_an_altered_byte_is_refused_wherever_it_is(signed: Path, forged: Path) -> None:
    file, public = forged / "certificate.json", str(signed / "owner.pub")
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    blank = whole.index(b"\n ")  # also where JSON has the same meaning
    signature = whole.index(b'"value"') + 12
    for place in (blank, signature, *rng.choice(len(whole), 60, replace=False).tolist()):
        changed = bytearray(whole)
        changed[place] = ord(" ") if changed[place] != ord(" ") else ord("\t")
        file.write_bytes(bytes(changed))
        try:
            found = check_issued(forged, key=public)
        except (UserError, UnicodeDecodeError):
            continue
        assert not found.sound, (place, whole[place : place + 9])
    file.write_bytes(whole)
    assert check_issued(forged, key=public).sound


def test_a_forged_verdict_with_all_digests_computed_again_is_refused_without_the_key(
    signed: Path, forged: Path
) -> None:
    public, document = str(signed / "owner.pub"), load(forged)
    kept = document.pop("signature")
    assert check_issued(save(forged, better(document))).sound, "digests alone cannot tell"
    assert check_issued(forged, key=public).problems == ("it has no signature",)
    save(forged, {**better(document), "signature": kept})
    assert "changed after it was signed" in check_issued(forged, key=public).problems[0]
    assert not check_issued(forged).sound  # nor does it pass unasked
    # Signed again, with the forger's own key.
    save(forged, OwnerKey.read(signed / "other").sign(better(document)))
    assert check_issued(forged).sound
    assert "signed with another key" in check_issued(forged, key=public).problems[0]
    # The owner's key named beside the forger's signature.
    mine = OwnerKey.read(signed / "other").sign(better(document))["signature"]
    save(forged, {**better(document), "signature": {**mine, "key": kept["key"]}})
    assert not check_issued(forged, key=public).sound


def test_a_signature_of_another_certificate_and_a_certificate_of_another_model_are_refused(
    signed: Path, forged: Path, tmp_path: Path
) -> None:
    columns = (
        "--predictions",
        "other",
        "--protected",
        "sex",
        "--known",
        "y",
        "--out",
        tmp_path / "other.audit",
    )
    done = run("audit", signed / "t.csv", *columns, "--sign", signed / "owner")
    assert done.exit_code in (0, 3), done.output
    other = load(tmp_path / "other.audit")
    save(forged, {**load(forged), "signature": other["signature"]})
    done = run("verify", forged, "--key", signed / "owner.pub")
    assert (done.exit_code, "was changed after it was signed" in done.output) == (1, True), done.output
    # Handed over whole, a good certificate of one model still says whose it is.
    assert other["digests"]["model"] != load(signed / "t.audit")["digests"]["model"]
    assert other["made_from"]["predictions"] == "other"


def test_another_table_is_refused(signed: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "t.csv", seed=1)
    done = run("verify", signed / "t.audit", other, "--key", signed / "owner.pub")
    assert (done.exit_code, "not the table that was audited" in done.output) == (1, True)


def test_another_model_is_refused(signed: Path, forged: Path) -> None:
    """The signed certificate of one column of decisions does not serve for another."""
    document = load(forged)
    document["made_from"]["predictions"] = "other"
    save(forged, seal(document) | {"signature": document["signature"]})
    assert not check_issued(forged, signed / "t.csv", str(signed / "owner.pub")).sound
    document = load(forged)
    document["digests"]["model"] = "0" * 64
    save(forged, seal(document) | {"signature": document["signature"]})
    assert not check_issued(forged, signed / "t.csv", str(signed / "owner.pub")).sound


def test_a_page_that_says_something_else_is_refused(signed: Path, forged: Path) -> None:
    page = forged / "certificate.html"
    page.write_text(page.read_text("utf-8").replace("0.1", "0.01", 1), encoding="utf-8")
    assert check_issued(forged, key=str(signed / "owner.pub")).problems == (
        "certificate.html does not say what certificate.json says",
    )


def test_the_log_of_an_audit_that_asked_is_signed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Audit, "calibration", lambda *_, **__: 0.05)
    monkeypatch.chdir(tmp_path)
    table = write(tmp_path / "t.csv")
    with table.open(encoding="utf-8") as stream:
        truth = [row["y"] for row in csv.DictReader(stream)]
    new_key(tmp_path / "owner")
    begin = ("--predictions", "said", "--protected", "sex", "--budget", 200, "--looks", 1, "--sign", "owner")
    done = run("audit", "t.csv", *begin, "--json")
    sheet = Path(json.loads(done.stdout)["rows_file"])
    with sheet.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    with Path("told.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(
            [("row", "label", "check"), *((r["row"], truth[int(r["row"])], r["check"]) for r in rows)]
        )
    done = run("audit", "t.csv", "--tell", "told.csv", "--sign", "owner")
    assert done.exit_code in (0, 1, 3), done.output
    assert check_issued("t.audit", "t.csv", "owner.pub").sound
    log = Path("t.audit/audit.json")
    log.write_text(log.read_text().replace('"corrections": []', '"corrections":  []'))
    assert check_issued("t.audit", key="owner.pub").problems == (
        "audit.json was changed after the certificate was issued",
    )


def test_repeated_audits_of_a_model_are_counted_and_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv")
    new_key(tmp_path / "owner")
    asked = ("--predictions", "said", "--protected", "sex", "--budget", 100, "--sign", "owner")
    for seed in (1, 2):  # begun and left alone
        assert run("audit", "t.csv", *asked, "--seed", seed, "--out", f"a{seed}").exit_code == 3
    known = ("audit", "t.csv", "--protected", "sex", "--known", "y", "--sign", "owner")
    run(*known, "--predictions", "said", "--out", "g")
    first = load(Path("g"))
    assert (first["register"]["of_model"], first["register"]["models_on_labels"]) == (3, 1)
    text = Path("g/certificate.txt").read_text()
    assert "This is audit 3 of this model that was begun with this key; at least one of 3 errs" in text
    # The same question on the same labels finds the same: it is not another audit.
    run(*known, "--predictions", "said", "--out", "g")
    assert load(Path("g")) == first
    run(*known, "--predictions", "other", "--out", "h")
    assert load(Path("h"))["register"]["models_on_labels"] == 2
    assert "2 models were decided on these labels with this key" in Path("h/certificate.txt").read_text()
    # A certificate that an older copy of the register counted is refused beside the whole register.
    whole = Path("owner.register").read_text()
    Path("owner.register").write_text("".join(whole.splitlines(keepends=True)[:2]))
    run(*known, "--predictions", "said", "--out", "r", "--tolerance", 0.2)
    assert load(Path("r"))["register"]["of_model"] == 3  # the older copy knows two of the three before it
    assert run("verify", "r", "--key", "owner.pub").exit_code == 0
    Path("owner.register").write_text(whole)
    replayed = run("verify", "r", "--key", "owner.pub")
    assert (replayed.exit_code, "with another copy of the register" in replayed.output) == (1, True)
    assert run("verify", "g", "--key", "owner.pub").exit_code == 0
    # A line that is left out is noticed.
    lines = Path("owner.register").read_text().splitlines(keepends=True)
    Path("owner.register").write_text("".join(lines[1:]))
    done = run(*known, "--predictions", "other", "--out", "i")
    assert (done.exit_code, "line 1 does not follow" in done.output) == (2, True)
    assert not Path("i").exists()


def test_an_audit_that_no_key_counted_cannot_be_signed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv")
    new_key(tmp_path / "owner")
    begin = ("audit", "t.csv", "--predictions", "said", "--protected", "sex", "--budget", 100)
    run(*begin)
    done = run("audit", "t.csv", "--sign", "owner")
    assert (done.exit_code, "begun without --sign" in done.output) == (2, True)
    run(*begin, "--out", "b", "--sign", "owner")
    new_key(tmp_path / "other")
    assert "begun with another key" in run("audit", "t.csv", "--out", "b", "--sign", "other").output


def test_an_unsigned_certificate_says_that_nothing_counts(signed: Path, tmp_path: Path) -> None:
    words = ("--predictions", "said", "--protected", "sex", "--known", "y", "--out", tmp_path / "x")
    assert "without a key (--sign) nothing counts them" in run("audit", signed / "t.csv", *words).output
    assert run("verify", tmp_path / "x", "--key", signed / "owner.pub").exit_code == 1


def test_keys_are_private_and_are_never_overwritten(tmp_path: Path) -> None:
    made = run("verify", "--new-key", tmp_path / "owner")
    assert made.exit_code == 0
    assert (tmp_path / "owner").stat().st_mode & 0o777 == 0o600
    again = run("verify", "--new-key", tmp_path / "owner")
    assert (again.exit_code, "exists already" in again.output) == (2, True)
    (tmp_path / "owner").chmod(0o644)
    with pytest.raises(UserError, match="others than its owner can use"):
        OwnerKey.read(tmp_path / "owner")
    with pytest.raises(UserError, match="No such file") as found:
        OwnerKey.read(tmp_path / "none")
    assert "--new-key" in found.value.remedy
    with pytest.raises(UserError, match="directory") as found:  # a new key would not help
        OwnerKey.read(tmp_path)
    assert "--new-key" not in found.value.remedy
    with pytest.raises(UserError, match="is a private key"):
        read_public(str(tmp_path / "owner"))


def test_a_key_whose_command_was_killed_is_completed_and_not_replaced(tmp_path: Path) -> None:
    public = new_key(tmp_path / "owner")
    secret, said = (tmp_path / "owner").read_bytes(), public.read_bytes()
    public.unlink()
    assert new_key(tmp_path / "owner").read_bytes() == said
    assert (tmp_path / "owner").read_bytes() == secret


def test_commands_at_once_are_all_in_the_register(tmp_path: Path) -> None:
    def begin(number: int) -> int:
        return int(
            Register(tmp_path / "r").begin(table="t", model="m", labels="", asked=str(number))["entry"]
        )

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(begin, range(16))) == [*range(1, 17)]
    assert len(Register(tmp_path / "r").read()[0]) == 16


@pytest.mark.parametrize("passphrase", ["", "correct horse"])
def test_keys_of_ssh_keygen_serve(tmp_path: Path, passphrase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed (Debian: apt-get install openssh-client)")
    file = tmp_path / "owner"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", file], check=True)
    if passphrase:
        with pytest.raises(UserError, match="cannot be read as a private key"):
            OwnerKey.read(file)
        monkeypatch.setenv("FAIRASK_KEY_PASSPHRASE", passphrase)
    document = OwnerKey.read(file).sign({"verdict": "refuted"})
    assert signature_problems(document, str(tmp_path / "owner.pub")) == []


def test_a_signature_has_one_spelling(tmp_path: Path) -> None:
    new_key(tmp_path / "owner")
    key = OwnerKey.read(tmp_path / "owner")
    document = key.sign({"a": 1})
    value = document["signature"]["value"]
    # The last letter of 64 bytes in base64 has bits that mean nothing.
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    twin = value[:-3] + letters[letters.index(value[-3]) ^ 1] + "=="
    assert base64.b64decode(twin) == base64.b64decode(value)
    for wrong in (twin, "", "é", None, 3):
        found = {**document, "signature": {**document["signature"], "value": wrong}}
        assert signature_problems(found, key.public) == ["its signature is damaged"]
    for broken in ({"kind": "ed25519"}, {**document["signature"], "kind": "none"}, "x", [1]):
        assert signature_problems({**document, "signature": broken}, key.public) == [
            "its signature is damaged"
        ]


def test_a_register_counts_by_model(tmp_path: Path) -> None:
    register = Register(tmp_path / "r")
    found = [register.begin(table="t", model=m, labels="", asked="q")["of_model"] for m in "aab"]
    assert found == [1, 2, 1]
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 100_000, b"{}", b"\n"])
def test_a_register_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r").write_bytes(content)
    with pytest.raises(UserError, match="line 1 does not follow"):
        Register(tmp_path / "r").begin(table="t", model="m", labels="", asked="q")


def test_a_verdict_must_be_that_of_a_certificate_that_is_there(forged: Path) -> None:
    found = load(forged)
    assert changes(found) == []
    wrong = [f"its verdict, {found['verdict']}, is not that of its certificates"]
    assert changes(seal({**found, "target": "nowhere"})) == wrong
