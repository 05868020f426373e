"""A dataset's metadata, without reading its file."""

from __future__ import annotations

from dataclasses import dataclass

from fairask.datasets._catalog import CATALOG, SYNTHETIC, check_name, names
from fairask.datasets._dataset import about
from fairask.datasets._synthetic import make_synthetic
from fairask.datasets.files import how_to_get, locate


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset's metadata, and where its file is.

    Attributes
    ----------
    name, target, protected, description, citation, licence, source : str
        What it is and where it comes from.
    rows : int
        Number of rows.
    features : dict
        Number of features of each variant.
    group_sizes, base_rates : dict
        Rows and P(y = 1) of each group.
    base_rate : float
        P(y = 1) over all rows.
    place : str or None
        "embedded", "generated", "folder" (``FAIRASK_DATA``), "cache", or None where it is absent.
    path : str or None
        The file, for "folder" and "cache".
    how_to_get : str
        What to do where it is absent; empty where it is present.
    """

    name: str
    target: str
    protected: str
    description: str
    citation: str
    licence: str
    source: str
    rows: int
    features: dict[str, int]
    group_sizes: dict[str, int]
    base_rates: dict[str, float]
    base_rate: float
    place: str | None
    path: str | None
    how_to_get: str


def info(name: str) -> DatasetInfo:
    """Return a dataset's metadata; reads no file.

    Examples
    --------
    >>> adult = info("adult")
    >>> adult.rows, adult.features, adult.group_sizes, adult.place
    (48842, {'paper': 100}, {'Female': 16192, 'Male': 32650}, 'embedded')
    """
    if check_name(name) == SYNTHETIC:
        return _synthetic_info()
    spec = CATALOG[name]
    location = locate(spec)
    positives = sum(count.positives for count in spec.counts.values())
    return DatasetInfo(
        **about(spec),
        source=spec.source,
        rows=spec.rows,
        features=dict(spec.features),
        group_sizes={group: count.size for group, count in spec.counts.items()},
        base_rates={group: count.positives / count.size for group, count in spec.counts.items()},
        base_rate=positives / spec.rows,
        place=location.place if location else None,
        path=str(location.paths[0]) if location and location.paths else None,
        how_to_get="" if location else how_to_get(spec),
    )


def status() -> list[DatasetInfo]:
    """Return the metadata of every dataset, by name.

    Examples
    --------
    >>> [d.name for d in status() if d.place in ("embedded", "generated")]
    ['adult', 'german', 'synthetic']
    """
    return [info(name) for name in names()]


def markdown_table() -> str:
    """Return the table of datasets in the documentation, which a test compares with this.

    Examples
    --------
    >>> print(markdown_table().splitlines()[0])
    | dataset | rows | features | y = 1 | groups (rows, P(y = 1)) | source | licence |
    """
    lines = [
        "| dataset | rows | features | y = 1 | groups (rows, P(y = 1)) | source | licence |",
        "|---|---|---|---|---|---|---|",
    ]
    for d in status():
        features = ", ".join(f"{n} ({variant})" for variant, n in d.features.items())
        groups = "; ".join(f"{g}: {n:,}, {d.base_rates[g]:.3f}" for g, n in d.group_sizes.items())
        target = f"{d.target} ({100 * d.base_rate:.1f} %)"
        cells = [d.name, f"{d.rows:,}", features, target, f"{d.protected}: {groups}", d.source, d.licence]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _synthetic_info() -> DatasetInfo:
    drawn = make_synthetic()
    return DatasetInfo(
        **about(drawn),
        source="generated (seed 0)",
        rows=len(drawn.y),
        features={"paper": drawn.X.shape[1], "wide": drawn.X.shape[1]},
        group_sizes=drawn.group_sizes,
        base_rates=drawn.base_rates,
        base_rate=float(drawn.y.mean()),
        place="generated",
        path=None,
        how_to_get="",
    )
