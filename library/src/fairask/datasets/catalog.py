"""The benchmark's tables by name: where they are, what they are, loading and downloading them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairask.datasets import adult, bank, compas, crime, drug, german
from fairask.datasets.dataset import Dataset, Parsed, RawTable, Spec, standardized, wrong_table
from fairask.datasets.synthetic import make_synthetic
from fairask.errors import MissingExtra, TableError, UserError, suggest

#: Adding a table is one file with a ``SPEC`` and one entry here.
CATALOG: dict[str, Spec] = {
    module.SPEC.name: module.SPEC for module in (adult, bank, compas, crime, drug, german)
}
#: The dataset that is generated.
_SYNTHETIC = "synthetic"
#: A folder with the files in the layout ``drug/drug_consumption.data``, ``bank/bank.csv``, ...
_FOLDER = "FAIRASK_DATA"
#: Where downloads go, instead of the operating system's cache folder.
_CACHE = "FAIRASK_CACHE"
#: A mirror with the files in the layout of ``FAIRASK_DATA``, instead of the official sources.
_MIRROR = "FAIRASK_DATA_URL"
#: Seconds without a byte after which a server counts as stalled.
_TIMEOUT = 30.0


class DatasetNotFound(UserError, FileNotFoundError):
    """The table's file is not on this machine; the remedy says how to get it.

    >>> print(DatasetNotFound("the drug table is not on this machine", "run `fairask datasets pull drug`"))
    the drug table is not on this machine; run `fairask datasets pull drug`
    """

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"  # an OSError of two arguments would print an error number


class DownloadError(UserError, RuntimeError):
    """A download did not give the published table; the cache holds what it held before.

    >>> DownloadError("https://host/t.csv: the request failed", "Run it again").remedy
    'Run it again'
    """


def names() -> list[str]:
    """Return the names that :func:`load` knows.

    Examples
    --------
    >>> names()
    ['adult', 'bank', 'compas', 'crime', 'drug', 'german', 'synthetic']
    """
    return sorted([*CATALOG, _SYNTHETIC])


def load(name: str, variant: str | None = None, standardize: bool = True, **options: Any) -> Dataset:
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
    known = list(CATALOG[name].features) if _check_name(name) in CATALOG else ["paper", "wide"]
    if variant is not None and variant not in known:
        raise ValueError(f"unknown variant {variant!r} of {name}; {suggest(variant, known)}")
    if name == _SYNTHETIC:
        wide = {"spread": 30.0, "by_group": False} if variant == "wide" else {}
        drawn = make_synthetic(**{**wide, **options}, standardize=standardize)
        return replace(drawn, variant=variant or drawn.variant)
    if options:
        given = ", ".join(sorted(options))
        raise TypeError(f"load({name!r}) takes no option {given}; only {_SYNTHETIC!r} has options")
    spec = CATALOG[name]
    if spec.embedded:
        table = spec.parse(embedded(spec))
    elif (found := _locate(spec)) is not None:
        table = _read(spec, found[1])
    else:
        raise DatasetNotFound(f"the {name} table is not on this machine", _how_to_get(spec))
    X, feature_names = table.X, table.feature_names
    if variant == "honest":
        assert spec.leaks is not None  # an honest variant exists only where something leaks
        kept = [i for i, feature in enumerate(feature_names) if not spec.leaks(feature)]
        X, feature_names = X[:, kept], [feature_names[i] for i in kept]
    return Dataset(
        name=name,
        variant=variant or "paper",
        X=standardized(X) if standardize else X,
        y=table.y,
        groups=table.groups,
        feature_names=feature_names,
        target=spec.target,
        protected=spec.protected,
        description=spec.description,
        citation=spec.citation,
        licence=spec.licence,
    )


def info(name: str) -> dict[str, Any]:
    """Describe a dataset without reading its file.

    Returns
    -------
    dict
        ``name``, ``target``, ``protected``, ``description``, ``citation``, ``licence``, ``source``, ``rows``,
        ``features`` (by variant), ``group_sizes``, ``base_rates`` (by group), ``base_rate``, ``place``
        ("embedded", "generated", "folder", "cache", or None where it is absent), ``path``, and
        ``how_to_get``, which says what to do where it is absent.

    Examples
    --------
    >>> adult = info("adult")
    >>> adult["rows"], adult["features"], adult["group_sizes"], adult["place"]
    (48842, {'paper': 100}, {'Female': 16192, 'Male': 32650}, 'embedded')
    """
    about: Spec | Dataset
    place: str | None
    path: Path | None
    if _check_name(name) == _SYNTHETIC:
        about = drawn = make_synthetic()
        sizes, rates = drawn.group_sizes, drawn.base_rates
        features = {"paper": drawn.X.shape[1], "wide": drawn.X.shape[1]}
        place, path, source, how = "generated", None, "generated (seed 0)", ""
    else:
        about = spec = CATALOG[name]
        sizes = {group: size for group, (size, _) in spec.counts.items()}
        rates = {group: positives / size for group, (size, positives) in spec.counts.items()}
        found = ("embedded", None) if spec.embedded else _locate(spec)
        features, source = dict(spec.features), spec.source
        place, path = found or (None, None)
        how = "" if found else _how_to_get(spec)
    rows = sum(sizes.values())
    return {
        "name": name,
        "target": about.target,
        "protected": about.protected,
        "description": about.description,
        "citation": about.citation,
        "licence": about.licence,
        "source": source,
        "rows": rows,
        "features": features,
        "group_sizes": sizes,
        "base_rates": rates,
        "base_rate": sum(sizes[group] * rates[group] for group in sizes) / rows,
        "place": place,
        "path": path and str(path),
        "how_to_get": how,
    }


def pull(name: str, *, force: bool = False) -> Path | None:
    """Download a table into the cache, checked before it gets there.

    The bytes of the official files are not pinned: copies have another header or fewer columns. What is
    pinned is the parsed table, which is the same for every form of the file and differs if one value does.
    Whatever goes wrong, the cache holds after the call what it held before it. The environment variable
    ``FAIRASK_DATA_URL`` names a mirror in the layout of ``FAIRASK_DATA``
    (``<mirror>/drug/drug_consumption.data``), instead of the official sources.

    Parameters
    ----------
    name : str
        One of ``names()``.
    force : bool
        Download even if the table is there.

    Returns
    -------
    Path or None
        The file; None for a table that is part of the package or generated.

    Raises
    ------
    DownloadError
        If the server cannot be reached, answers with an error, stalls, or sends something else.
    DatasetNotFound
        If there is no automatic download (bank) and the file is not there.

    Examples
    --------
    >>> print(pull("german"))
    None
    """
    if _check_name(name) == _SYNTHETIC or CATALOG[name].embedded:
        return None
    spec = CATALOG[name]
    found = _locate(spec)
    if found is not None and not force:
        try:
            _read(spec, found[1])
            return found[1]
        except TableError as error:
            if found[0] == "folder":
                raise DownloadError(
                    str(error), "Repair or remove this file: it is read before the cache"
                ) from error
    base = os.environ.get(_MIRROR)
    if base and not base.startswith(("http://", "https://")):
        raise ValueError(f"{_MIRROR} must start with http:// or https://, got {base!r}")
    url = f"{base.rstrip('/')}/{spec.files[0]}" if base else spec.url
    if url is None:
        raise DatasetNotFound(f"the {name} table is not on this machine", _how_to_get(spec))
    cache = _cache_folder()
    if cache is None or not _has_pooch():
        raise MissingExtra("downloading tables needs pooch", "bench")
    return _download(spec, url, cache)


def _download(spec: Spec, url: str, cache: Path) -> Path:
    import pooch
    import requests

    target = cache / spec.files[0]
    fresh = target.with_name(f"{target.name}.new")
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # it advises which hash to pin; the content is checked here
    nothing = "Nothing was changed: check the address and the network, then run the same again"
    try:
        fresh.unlink(missing_ok=True)
        downloader = pooch.HTTPDownloader(timeout=_TIMEOUT)
        pooch.retrieve(url, None, fname=fresh.name, path=fresh.parent, downloader=downloader)
        _read(spec, fresh)
        return fresh.replace(target)
    except TableError as error:
        reason = str(error).removeprefix(f"{fresh}: ")
        raise DownloadError(
            f"{url}: what came is not the published {spec.name} table: {reason}",
            "It was deleted; try again later, or save the published file yourself",
        ) from error
    except requests.HTTPError as error:
        answer = error.response
        assert answer is not None  # there is no status without one
        raise DownloadError(
            f"{url}: the server answered {answer.status_code} ({answer.reason})",
            "The file may have moved; nothing was changed",
        ) from error
    except requests.RequestException as error:
        # While a body streams, requests reports a read timeout as a connection error.
        if isinstance(error, requests.Timeout) or "timed out" in str(error).lower():
            why = f"the server stalled and sent nothing for {_TIMEOUT:g} s"
        elif isinstance(error, requests.exceptions.ChunkedEncodingError):
            why = "the download was truncated"
        else:
            why = f"cannot be reached, or the connection broke ({error})"
        raise DownloadError(f"{url}: {why}", nothing) from error
    except OSError as error:
        raise DownloadError(
            f"cannot write to the cache folder {cache} ({error})", f"{_CACHE} can name another folder"
        ) from error
    finally:
        logger.setLevel(level)
        if fresh.parent.is_dir():
            fresh.unlink(missing_ok=True)


def embedded(spec: Spec) -> RawTable:
    """Return a table that is part of the package; the sha256 of its file is checked each time."""
    content = files("fairask.datasets").joinpath("tables", f"{spec.name}.npz").read_bytes()
    if hashlib.sha256(content).hexdigest() != spec.embedded:
        raise wrong_table(
            f"the embedded table {spec.name} was changed (its sha256 is wrong); reinstall fairask"
        )
    return RawTable.unpack(content, spec.name)


def _check_name(name: str) -> str:
    if name not in names():
        raise ValueError(f"unknown dataset {name!r}; {suggest(name, names())}")
    return name


def _read(spec: Spec, path: Path) -> Parsed:
    table = spec.parse(spec.read([path.read_bytes()], str(path)))
    spec.check(table, str(path))
    return table


def _locate(spec: Spec) -> tuple[str, Path] | None:
    """Return where the table's file is: "folder" or "cache", and its path; None where it is absent."""
    for place, folder in (("folder", _data_folder()), ("cache", _cache_folder())):
        if folder is not None and (folder / spec.files[0]).is_file():
            return place, folder / spec.files[0]
    return None


def _data_folder() -> Path | None:
    chosen = os.environ.get(_FOLDER)
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise DatasetNotFound(
            f"{_FOLDER} is set to {chosen!r}, which is not a folder", "Name a folder, or unset it"
        )
    return folder


def _cache_folder() -> Path | None:
    """Return the folder of downloads; None where nothing says which it is: pooch knows the system's."""
    if chosen := os.environ.get(_CACHE):
        return Path(chosen).expanduser()
    if not _has_pooch():
        return None
    import pooch

    return Path(pooch.os_cache("fairask"))


def _has_pooch() -> bool:
    try:
        import pooch  # noqa: F401
    except ImportError:
        return False
    return True


def _how_to_get(spec: Spec) -> str:
    """Say what to run or which file to put where, for a table that is not on this machine."""
    folder = _data_folder()
    target = (folder or Path(f"${_FOLDER}")) / spec.files[0]
    hint = "" if folder else f", where the environment variable {_FOLDER} names a folder of yours"
    if spec.url is None:
        cache = _cache_folder()
        also = f", or as {cache / spec.files[0]}" if cache is not None else ""
        return f"{spec.manual} and save it as {target}{hint}{also}"
    extra = "" if _has_pooch() else " (first: pip install 'fairask[bench]')"
    return f"run `fairask datasets pull {spec.name}`{extra}, or save {spec.url} as {target}{hint}"
