"""The page on datasets says what the code says."""

from __future__ import annotations

from pathlib import Path

from fairask.datasets import info, names

PAGE = Path(__file__).parents[3] / "docs" / "datasets.md"


def test_the_table_in_the_docs_says_what_is_known_of_each_dataset():
    page = PAGE.read_text(encoding="utf-8")
    for d in map(info, names()):
        features = ", ".join(f"{n} ({variant})" for variant, n in d["features"].items())
        groups = "; ".join(f"{g}: {n:,}, {d['base_rates'][g]:.3f}" for g, n in d["group_sizes"].items())
        target = f"{d['target']} ({100 * d['base_rate']:.1f} %)"
        groups = f"{d['protected']}: {groups}"
        cells = [d["name"], f"{d['rows']:,}", features, target, groups, d["source"], d["licence"]]
        assert f"| {' | '.join(cells)} |" in page
