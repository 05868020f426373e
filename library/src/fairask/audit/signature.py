"""Signatures: an Ed25519 key of the owner, documents signed with it, and a register of audits begun with it.

Keys are files as OpenSSH writes them (PEM is read as well), so ``ssh-keygen -t ed25519`` makes them, too.
What is signed is the canonical JSON of a document without its signature: sorted names, no blanks, UTF-8.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fairask.errors import UserError
from fairask.tables.sheets import alone, write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

#: The environment variable with the passphrase of a private key that has one.
PASSPHRASE = "FAIRASK_KEY_PASSPHRASE"
_TYPE = "ssh-ed25519"


def canonical(document: Mapping[str, Any]) -> bytes:
    """Return what is signed of a document: canonical JSON of all but its signature.

    Examples
    --------
    >>> canonical({"b": 1, "a": "é", "signature": {}}).decode()
    '{"a":"é","b":1}'
    """
    said = {name: value for name, value in document.items() if name != "signature"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def new_key(file: Path) -> Path:
    """Write a new private key, which its owner alone can read, and the public one; return the latter.

    Where a private key is there without its public one, that alone is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     public = new_key(Path(folder, "owner"))
    ...     public.name, oct(Path(folder, "owner").stat().st_mode & 0o777), public.read_text()[:11]
    ('owner.pub', '0o600', 'ssh-ed25519')
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    public = file.with_name(f"{file.name}.pub")
    if public.exists():
        raise UserError(f"{public} exists already", "Name another file: a key is never overwritten")
    if not file.parent.is_dir():
        raise UserError(f"there is no folder {file.parent}", f"Make it first: mkdir -p {file.parent}")
    with alone(file.parent):  # two commands at once must not both write it
        if not file.exists():
            made = Ed25519PrivateKey.generate()
            secret = made.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
            write_whole(file, secret, mode=0o600)
    write_whole(public, OwnerKey.read(file).public + "\n")
    return public


def public_text(key: Ed25519PublicKey) -> str:
    """Return a public key as one line."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    text: str = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode("ascii")
    return text


def fingerprint(public: str) -> str:
    """Return the short name of a public key, as ``ssh-keygen -l`` shows it."""
    digest = hashlib.sha256(base64.b64decode(public.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def read_public(given: str) -> str:
    """Return the public key in a file, or that was given as text, as one line without a comment.

    Examples
    --------
    >>> read_public("nowhere.pub")
    Traceback (most recent call last):
    fairask.errors.UserError: nowhere.pub: there is no such file; give the file of a public key, KEY.pub
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

    file = Path(given)
    if given.startswith(f"{_TYPE} "):
        data = given.encode()
    elif file.is_file():
        data = file.read_bytes()
    else:
        raise UserError(f"{given}: there is no such file", "give the file of a public key, KEY.pub")
    if b"PRIVATE KEY" in data:
        raise UserError(f"{given} is a private key", f"give the public one: {given}.pub")
    try:
        found = load_pem_public_key(data) if b"-----BEGIN" in data else load_ssh_public_key(data)
    except Exception as error:  # each kind of damage has an exception of its own
        raise UserError(f"{given} cannot be read as a public key", "give an Ed25519 key, KEY.pub") from error
    if not isinstance(found, Ed25519PublicKey):
        raise UserError(f"{given} is a key of another kind", "give an Ed25519 key")
    return public_text(found)


@dataclass(frozen=True)
class OwnerKey:
    """A private key, and the register of the audits that were begun with it."""

    file: Path
    private: Ed25519PrivateKey

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a private key from a file that nobody but its owner can read."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

        try:
            data = file.read_bytes()
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            make = f"Make a key: fairask verify --new-key {file}"
            remedy = make if missing else "Give a file that you can read"
            raise UserError(f"{file}: {error.strerror}", remedy) from error
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise UserError(f"others than its owner can use the private key {file}", f"chmod 600 {file}")
        load = load_ssh_private_key if b"OPENSSH" in data else load_pem_private_key
        secret = os.environ.get(PASSPHRASE)
        try:
            found = load(data, None if secret is None else secret.encode())
        except Exception as error:  # each kind of damage has an exception of its own
            raise UserError(
                f"{file} cannot be read as a private key",
                f"Give the file of an Ed25519 key; its passphrase, if it has one, is read from {PASSPHRASE}",
            ) from error
        if not isinstance(found, Ed25519PrivateKey):
            raise UserError(f"{file} is a key of another kind", "Give an Ed25519 key")
        return cls(file, found)

    @property
    def public(self) -> str:
        """The public key as one line."""
        return public_text(self.private.public_key())

    def sign(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document with its signature.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     public = new_key(Path(folder, "owner")).read_text()
        ...     signed = OwnerKey.read(Path(folder, "owner")).sign({"verdict": "refuted"})
        >>> signature_problems(signed, public)
        []
        >>> signature_problems(signed | {"verdict": "certified"}, public)
        ['its signature is not of what it says: it was changed after it was signed']
        """
        value = base64.b64encode(self.private.sign(canonical(document))).decode("ascii")
        signature = {"kind": "ed25519", "key": self.public, "value": value}
        return {**{n: v for n, v in document.items() if n != "signature"}, "signature": signature}

    @property
    def register(self) -> Register:
        """The register beside the key."""
        return Register(self.file.with_name(f"{self.file.name}.register"))


def signature_problems(document: Mapping[str, Any], public: str | None) -> list[str]:
    """Return what is wrong with the signature of a document; it must be of this public key if one is given.

    Examples
    --------
    >>> signature_problems({"verdict": "certified"}, None)
    ['it has no signature']
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    signature = document.get("signature")
    if not signature:
        return ["it has no signature"]
    try:
        key, text = read_public(signature["key"]), signature["value"]
        value = base64.b64decode(text, validate=True)
        whole = len(value) == 64 and base64.b64encode(value).decode("ascii") == text
        whole = whole and key == signature["key"]
    except (UserError, KeyError, TypeError, ValueError):
        whole = False
    if not whole or set(signature) != {"kind", "key", "value"} or signature["kind"] != "ed25519":
        return ["its signature is damaged"]
    if public is not None and key != read_public(public):
        return [f"it was signed with another key, {fingerprint(key)}"]
    loaded = load_ssh_public_key(key.encode())
    assert isinstance(loaded, Ed25519PublicKey)
    try:
        loaded.verify(value, canonical(document))
    except InvalidSignature:
        return ["its signature is not of what it says: it was changed after it was signed"]
    return []


@dataclass(frozen=True)
class Entry:
    """One audit in a register.

    Attributes
    ----------
    at : str
        When it was begun.
    table, model, labels : str
        Digests; labels are named where they existed when the audit was begun.
    asked : str
        Digest of what was asked for: columns and settings.
    before : str
        The sha256 of the line before.
    """

    at: str
    table: str
    model: str
    labels: str
    asked: str
    before: str


@dataclass(frozen=True)
class Register:
    """The audits that were begun with a key, one line each; every line names the digest of the one before.

    It counts what a single certificate cannot show: audits of the same model that were begun before this one.
    It does not see audits that were begun without the key, with another one, or with another copy of the
    register.
    """

    file: Path

    def read(self) -> tuple[list[Entry], str]:
        """Return the entries and the sha256 of the last line; raise UserError where a line was changed."""
        entries, last = [], ""
        # A byte that is no text becomes one that no line can have.
        lines = self.file.read_text("utf-8", "replace").splitlines() if self.file.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                entry = Entry(**json.loads(line))
            except (ValueError, TypeError, RecursionError) as error:
                raise self._broken(number) from error
            if entry.before != last:
                raise self._broken(number)
            entries.append(entry)
            last = hashlib.sha256(line.encode()).hexdigest()
        return entries, last

    def _broken(self, number: int) -> UserError:
        return UserError(
            f"{self.file} was changed: line {number} does not follow from the one before",
            "Restore it from a copy, or make a new key: certificates count the audits of their key",
        )

    def problems(self, named: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with what a certificate says of this register; nothing if it is not here."""
        if not self.file.exists():
            return []
        lines, at = self.file.read_text("utf-8", "replace").splitlines(), named["entry"]
        try:
            self.read()
        except UserError as error:
            return [error.what]
        if at <= len(lines) and hashlib.sha256(lines[at - 1].encode()).hexdigest() == named["sha256"]:
            return []
        return [
            f"{self.file} does not have this audit as number {at}: the audit was begun with another copy of "
            "the register, so audits of this model may be missing in its count"
        ]

    def begin(self, *, table: str, model: str, labels: str, asked: str) -> dict[str, Any]:
        """Note that an audit begins; return what its certificate says of the register.

        A decision on the same labels about the same question is no other audit: it finds the same.
        """
        with alone(self.file.parent):
            entries, last = self.read()
            same = [e for e in entries if labels and (e.model, e.labels, e.asked) == (model, labels, asked)]
            if same:
                place = entries.index(same[0])
                last = entries[place + 1].before if place + 1 < len(entries) else last
                entries = entries[: place + 1]
            else:
                at = datetime.now(UTC).isoformat(timespec="seconds")
                line = json.dumps(asdict(Entry(at, table, model, labels, asked, last)))
                text = self.file.read_text("utf-8") if entries else ""
                write_whole(self.file, f"{text}{line}\n", mode=0o600)
                entries, last = self.read()
        models = {e.model for e in entries if labels and e.labels == labels}
        return {
            "entry": len(entries),
            "sha256": last,
            "of_model": sum(e.model == model for e in entries),
            "models_on_labels": len(models),
        }
