"""Every certificate is what its JSON schema says."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

from fairask.audit import Audit, certify, issue, json_schema
from fairask.audit.plan import QUESTIONS

VALIDATOR = jsonschema.Draft202012Validator(json_schema("certificate"))


def rows(n: int = 400):
    rng = np.random.default_rng(1)
    y, groups = rng.integers(0, 2, n), rng.integers(0, 3, n)
    return y, np.where(rng.random(n) < 0.8, y, 1 - y), groups


@pytest.mark.parametrize("metric", QUESTIONS)
def test_certificates_of_labels_and_of_audits_keep_to_the_schema(metric):
    y, pred, groups = rows()
    audit = Audit(pred, groups, metric=metric, budget=60, looks=1)
    while not audit.done:
        asked = audit.ask().indices
        audit.tell(asked, y[asked])
    found = [certify(y, pred, groups, metric=metric), audit.certificate(), audit.certificate("population")]
    for certificate in found:
        document = json.loads(json.dumps(issue(certificate, model="ab"), allow_nan=False))
        VALIDATOR.validate(document)


def test_an_audit_that_knows_nothing_yet_keeps_to_the_schema_and_a_wrong_one_does_not():
    _, pred, groups = rows()
    document = Audit(pred, groups, budget=60).certificate().to_dict()
    VALIDATOR.validate(document)
    for change in ({"version": 2}, {"verdict": "fair"}, {"upper": 1.5}, {"estimate": "0.1"}):
        assert not VALIDATOR.is_valid(document | change)
    del document["assumptions"]
    assert not VALIDATOR.is_valid(document)


def test_an_unknown_document_is_refused():
    with pytest.raises(ValueError, match="document='report' is unknown"):
        json_schema("report")
