"""Stopping rules written as words."""

import pytest

from fairask.stopping import AnyOf, Budget, Certified, Plateau, make_rule


def test_words_become_rules():
    assert make_rule("plateau") == Plateau()
    assert make_rule("plateau:4") == Plateau(rounds=4)
    assert make_rule("budget:100,plateau:2:0.01,certified") == AnyOf(
        (Budget(100), Plateau(2, 0.01), Certified())
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("platou", "did you mean 'plateau'"),
        ("plateau:x", r"write plateau\[:ROUNDS"),
        ("plateau:0", "numbers above 0"),
        ("plateau:1:nan", "numbers above 0"),
        ("plateau:1:2:3", r"write plateau\[:ROUNDS"),
        ("budget", "write budget:LABELS"),
        ("certified:3", "write certified"),
        ("", "unknown"),
    ],
)
def test_other_words_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        make_rule(text)


def test_rounds_without_new_labels_or_without_an_estimate_do_not_count():
    entries = [{"labels": n, "error": 0.2, "interpolates": False} for n in (25, 50, 50, 50)]
    assert Plateau(rounds=2).reason_in(entries) is None
    assert Plateau(rounds=1).reason_in(entries) is not None
    zeros = [{"labels": n, "error": 0.0, "interpolates": True} for n in (25, 50, 75, 100)]
    assert Plateau(rounds=2).reason_in(zeros) is None
