"""What a certificate was issued for, as digests, and the check that it still is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from fairask.audit.certificate import SCHEMA, Certificate
from fairask.checks import check_choice

#: Schemas by document: a certificate, ``certificate.json`` and ``audit.json`` of an audit's folder.
JSON_SCHEMAS = {"certificate": "certificate-1", "audit": "audit-1", "audit-state": "audit-state-2"}


def json_schema(document: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a document: "certificate", "audit" or "audit-state".

    The schema of "audit" refers to that of a certificate by its ``$id``.

    Examples
    --------
    >>> json_schema("certificate")["properties"]["version"]
    {'const': 1}
    """
    name = JSON_SCHEMAS[check_choice(document, "document", JSON_SCHEMAS)]
    text = files("fairask.audit").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def digest_of_settings(settings: Mapping[str, Any]) -> str:
    """The sha256 of settings, whatever their order.

    Examples
    --------
    >>> digest_of_settings({"a": 1, "b": 2}) == digest_of_settings({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the sha256 of all that it says, as ``sealed``.

    Examples
    --------
    >>> is_sealed(seal({"verdict": "certified"}))
    True
    """
    said = {name: value for name, value in document.items() if name != "sealed"}
    return said | {"sealed": digest_of_settings(said)}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Whether a document says what it said when it was sealed.

    Examples
    --------
    >>> is_sealed(seal({"verdict": "refuted"}) | {"verdict": "certified"})
    False
    """
    return bool(document.get("sealed") == seal(document)["sealed"])


def sign(certificate: Certificate, **digests: str) -> dict[str, Any]:
    """Return a certificate for JSON with the digests of what it was issued for, and its own.

    Examples
    --------
    >>> from fairask.audit import certify
    >>> document = sign(certify([1] * 8, [1] * 8, [0, 1] * 4), model="ab12")
    >>> document["digests"], check_certificate(document, model="ab12")
    ({'model': 'ab12'}, [])
    """
    named = dataclasses.replace(certificate, digests={**certificate.digests, **digests})
    return named.to_dict() | {"digest": named.digest}


def check_certificate(document: Mapping[str, Any], **digests: str) -> list[str]:
    """Return what is wrong with a certificate: nothing if it is whole and was issued for these digests.

    Parameters
    ----------
    document : mapping
        What :func:`sign` wrote.
    **digests : str
        Digests of what it should have been issued for, such as ``model=`` and ``pool=``.

    Examples
    --------
    >>> from fairask.audit import certify
    >>> document = sign(certify([1] * 8, [1] * 8, [0, 1] * 4), model="ab12")
    >>> check_certificate(document | {"upper": 0.01}, model="cd34")
    ['it was changed after it was issued', 'it was issued for another model']
    """
    if document.get("schema") != SCHEMA:
        return ["it is not a certificate of fairask"]
    problems = []
    try:
        whole = Certificate.from_dict(document)
        if whole.digest != document.get("digest"):
            problems.append("it was changed after it was issued")
    except (KeyError, TypeError, ValueError):
        return ["it is damaged"]
    for name, value in digests.items():
        if name not in whole.digests:
            problems.append(f"it does not say for which {name} it was issued")
        elif whole.digests[name] != value:
            problems.append(f"it was issued for another {name}")
    return problems
