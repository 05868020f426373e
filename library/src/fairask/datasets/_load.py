"""Loading a dataset by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairask.datasets._catalog import CATALOG, SYNTHETIC, check_name
from fairask.datasets._dataset import Dataset, about
from fairask.datasets._encode import standardized
from fairask.datasets._errors import DatasetNotFound
from fairask.datasets._spec import ParsedTable, Spec, check_table
from fairask.datasets._synthetic import make_synthetic
from fairask.datasets.files import Location, how_to_get, locate, read_texts
from fairask.errors import suggest

_WIDE: dict[str, Any] = {"spread": 30.0, "by_group": False}


def load(
    name: str, variant: str | None = None, standardize: bool = True, *, verify: bool = True, **options: Any
) -> Dataset:
    """Load a benchmark table as features, labels and groups.

    Adult and German Credit are part of the package and ``synthetic`` is generated. The other tables are read
    from the folder named by the environment variable ``FAIRASK_DATA``, else from the cache that
    ``fairask datasets pull`` fills; nothing is downloaded here.

    Parameters
    ----------
    name : str
        One of ``names()``.
    variant : str, optional
        "paper" (default) has the paper's features. "honest", for crime and drug, leaves out the columns that
        give the target away. "wide", for synthetic, has a spread of 30 and scales both
        groups together.
    standardize : bool
        Scale every feature to mean 0 and standard deviation 1 over all rows; False gives the encoded columns.
    verify : bool
        Check that the table is the published one, to the last value. False accepts another release of it.
    **options
        Arguments of :func:`make_synthetic`, for ``synthetic`` only.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotFound
        If the file is not on this machine; the message says how to get it.
    TableError
        If the file is not the table it should be.

    Examples
    --------
    >>> german = load("german", standardize=False)
    >>> german.X.shape, german.feature_names[:4]
    ((1000, 48), ['checking=A12', 'checking=A13', 'checking=A14', 'duration'])
    >>> load("synthetic", spread=3.0, n_majority=50, n_minority=5).X.shape
    (55, 2)
    """
    check_name(name)
    _check_variant(name, variant)
    if name == SYNTHETIC:
        wide = _WIDE if variant == "wide" else {}
        drawn = make_synthetic(**{**wide, **options}, standardize=standardize)
        return replace(drawn, variant=variant or drawn.variant)
    if options:
        given = ", ".join(sorted(options))
        raise TypeError(f"load({name!r}) takes no option {given}; only {SYNTHETIC!r} has options")
    spec = CATALOG[name]
    location = locate(spec)
    if location is None:
        raise DatasetNotFound(f"the {name} table is not on this machine", how_to_get(spec))
    table = read(spec, location, verify=verify)
    return _dataset(spec, variant or "paper", table, standardize)


def read(spec: Spec, location: Location, *, verify: bool) -> ParsedTable:
    """Parse the files at ``location``, and check them against the published table."""
    source = str(location.paths[0]) if location.paths else spec.name
    table = spec.parse(read_texts(spec, location), source)
    # The bytes of embedded files were checked when they were read.
    if verify and location.place != "embedded":
        check_table(spec, table, source)
    return table


def _check_variant(name: str, variant: str | None) -> None:
    known = list(CATALOG[name].features) if name in CATALOG else ["paper", "wide"]
    if variant is not None and variant not in known:
        raise ValueError(f"unknown variant {variant!r} of {name}; {suggest(variant, known)}")


def _dataset(spec: Spec, variant: str, table: ParsedTable, standardize: bool) -> Dataset:
    X, feature_names = table.X, table.feature_names
    if variant == "honest":
        assert spec.leaks is not None  # an honest variant exists only where something leaks
        kept = [i for i, feature in enumerate(feature_names) if not spec.leaks(feature)]
        X, feature_names = X[:, kept], [feature_names[i] for i in kept]
    return Dataset(
        **about(spec),
        variant=variant,
        X=standardized(X) if standardize else X,
        y=table.y,
        groups=table.groups,
        feature_names=feature_names,
    )
