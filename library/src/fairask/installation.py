"""What is installed of what fairask can use, and how to get the rest. Needs the extra ``cli``."""

from __future__ import annotations

import platform
import sqlite3
import sys
import webbrowser
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Literal

from packaging.requirements import Requirement

#: What each extra is for; those that are in the package's metadata and not here are shown without words.
PURPOSES = {
    "cli": "the command line",
    "postgres": "studies in a PostgreSQL database",
    "labelstudio": "rows labelled in Label Studio",
    "plot": "figures",
    "parquet": "Parquet files, URLs, and frames of pandas or polars",
    "excel": "Excel workbooks",
    "duckdb": "DuckDB databases",
    "ibis": "tables of any size in a database, through Ibis",
    "text": "texts read by a language model on your disk",
    "panda": "the PANDA strategy",
    "fairlearn": "comparisons with fairlearn",
    "bench": "downloads of the paper's tables",
}
#: From this version on, SQLite is free of the fault that several writers in WAL mode can meet.
SOUND_SQLITE = (3, 51, 3)
#: What to do where the studio is missing: it is not on a package index yet.
GET_STUDIO = "pip install ./studio, in a clone of the repository"


State = Literal["ok", "warn", "missing", "blocked"]


@dataclass(frozen=True)
class Finding:
    """One line of an examination; what is not ``ok`` carries a remedy where there is one."""

    what: str
    state: State
    found: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Look at this installation.

    >>> [finding.state for finding in examine() if finding.what == "python"]
    ['ok']
    """
    core = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    packages: tuple[str, ...]
    findings = [
        Finding("python", "ok", f"{platform.python_version()} ({platform.platform()})"),
        Finding("core", "ok", core),
    ]
    try:
        findings.append(Finding("studio", "ok", f"fairask-studio {version('fairask-studio')}"))
        packages = ("fairask", "fairask-studio")
    except PackageNotFoundError:
        lacks_studio = "studies, and the page where people label"
        findings.append(Finding("studio", "missing", lacks_studio, GET_STUDIO))
        packages = ("fairask",)
    for package, extra in ((name, extra) for name in packages for extra in _extras(name)):
        purpose = PURPOSES.get(extra, "")
        if lacks := missing(extra, package):
            remedy = f"pip install '{package}[{extra}]'"
            needs = f"{purpose}; needs {', '.join(lacks)}" if purpose else "needs " + ", ".join(lacks)
            findings.append(Finding(f"[{extra}]", "missing", needs, remedy))
        else:
            findings.append(Finding(f"[{extra}]", "ok", purpose))
    return [*findings, _sqlite(), _browser()]


def _extras(package: str) -> list[str]:
    """The extras of an installed package, in the order of their purposes."""
    named = distribution(package).metadata.get_all("Provides-Extra") or []
    return sorted(set(named), key=[*PURPOSES, *sorted(named)].index)


def missing(extra: str, package: str = "fairask") -> list[str]:
    """Requirements of an extra that are not installed, or too old.

    >>> missing("cli")
    []
    """
    lacks = []
    for line in distribution(package).requires or []:
        needed = Requirement(line)
        if needed.marker is None or not needed.marker.evaluate({"extra": extra}):
            continue
        if needed.marker.evaluate({"extra": ""}):
            continue  # the core needs it, whatever the extra
        if needed.name == "fairask":
            lacks += [lack for part in sorted(needed.extras) for lack in missing(part)]
            continue
        try:
            if not needed.specifier.contains(version(needed.name), prereleases=True):
                lacks.append(f"{needed.name}{needed.specifier} (found {version(needed.name)})")
        except PackageNotFoundError:
            lacks.append(needed.name)
    return list(dict.fromkeys(lacks))


def _sqlite() -> Finding:
    found = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= SOUND_SQLITE:
        return Finding("sqlite", "ok", found)
    wanted = ".".join(map(str, SOUND_SQLITE))
    return Finding(
        "sqlite",
        "warn",
        f"{found}; several writers at once need {wanted}",
        "use PostgreSQL for a team's study",
    )


def _browser() -> Finding:
    try:
        return Finding("browser", "ok", webbrowser.get().__class__.__name__)
    except webbrowser.Error:
        remedy = "open the address that fairask studio prints on a computer with a browser"
        return Finding("browser", "missing", f"none that Python knows ({sys.platform})", remedy)
