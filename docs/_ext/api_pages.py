"""Write the pages of the API reference: one per public module, from ``__all__``.

Names are not listed by hand: one that is added, renamed or removed changes the reference with the next build.
A name that several modules export is documented where its path is shortest, and linked from the others.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType

#: The public modules, by what a reader looks for.
SECTIONS = {
    "Learn": ["fairask", "fairask.strategies", "fairask.stopping", "fairask.experiment"],
    "Fair models": ["fairask.oracle", "fairask.metrics"],
    "Promise": ["fairask.audit", "fairask.people"],
    "Data": ["fairask.tables", "fairask.datasets", "fairask.pools"],
    "People": ["fairask_studio", "fairask_studio.pages", "fairask_studio.connect", "fairask.report"],
    "Extend": ["fairask.sampling", "fairask.testing", "fairask.errors"],
}


def _key(value: object, path: str) -> object:
    # Plain values (a version, a dictionary of colours) have no identity worth following.
    return id(value) if inspect.isclass(value) or inspect.isroutine(value) else path


def _kind(value: object) -> str:
    if inspect.isclass(value):
        return "classes"
    return "functions" if inspect.isroutine(value) else "values"


def _table(names: list[str]) -> list[str]:
    return [
        ".. autosummary::",
        "   :toctree: generated",
        "   :nosignatures:",
        "",
        *(f"   {n}" for n in names),
        "",
    ]


def module_page(name: str, module: ModuleType, homes: dict[object, str]) -> str:
    """Return the page of one module as reStructuredText."""
    summary = (inspect.getdoc(module) or "").strip()
    # The landing page has the package's name too: no two pages have one title.
    title = name if "." in name else f"Package {name}"
    lines = [title, "=" * len(title), "", summary, "", f".. currentmodule:: {name}", ""]
    own: dict[str, list[str]] = {"classes": [], "functions": [], "values": []}
    elsewhere = []
    for public in sorted(module.__all__, key=str.lower):
        if public.startswith("__"):
            continue
        value, path = getattr(module, public), f"{name}.{public}"
        if inspect.ismodule(value):
            continue
        home = homes[_key(value, path)]
        (own[_kind(value)] if home == path else elsewhere).append(public if home == path else home)
    for kind, title in (("classes", "Classes"), ("functions", "Functions")):
        if own[kind]:
            lines += [title, "-" * len(title), "", *_table(own[kind])]
    if own["values"]:
        lines += ["Values", "------", ""]
        for public in own["values"]:
            # A type alias looks callable to autodoc and has no signature; it is shown as it is written.
            if hasattr(value := getattr(module, public), "__origin__"):
                lines += [f".. py:data:: {public}", "", f"   Alias of ``{value}``.", ""]
            else:
                lines += [f".. autodata:: {public}", "   :no-value:", ""]
    if elsewhere:
        links = ", ".join(f":py:obj:`~{home}`" for home in elsewhere)
        lines += ["Also exported here", "------------------", "", links, ""]
    return "\n".join(lines)


def write_pages(folder: Path) -> list[str]:
    """Write all pages under ``folder``; return the names of the modules."""
    modules = {name: importlib.import_module(name) for names in SECTIONS.values() for name in names}
    homes: dict[object, str] = {}
    for name, module in sorted(modules.items(), key=lambda item: (item[0].count("."), item[0])):
        for public in module.__all__:
            path = f"{name}.{public}"
            homes.setdefault(_key(getattr(module, public), path), path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in modules.items():
        _write(folder / f"{name}.rst", module_page(name, module, homes))
    for old in folder.glob("fairask*.rst"):
        if old.stem not in modules:
            old.unlink()
    documented = set(homes.values())
    for old in (folder / "generated").glob("*.rst"):
        if old.stem not in documented:
            old.unlink()
    lines = [
        "API reference",
        "=============",
        "",
        "Every public name of both packages. What is not here may change.",
        "",
    ]
    for section, names in SECTIONS.items():
        lines += [section, "-" * len(section), "", ".. list-table::", "   :widths: 25 75", ""]
        for name in names:
            first = (inspect.getdoc(modules[name]) or "").split("\n\n")[0].replace("\n", " ")
            lines += [f"   * - :doc:`{name}`", f"     - {first}"]
        lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
    _write(folder / "index.rst", "\n".join(lines))
    return list(modules)


def _write(path: Path, text: str) -> None:
    # Only what has changed is written, so that Sphinx reads only that again.
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def setup(app: object) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    write_pages(Path(app.srcdir) / "api")  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
