"""The rules of the house: what is private stays private, one name per class, few probes, few parameters.

Counts of what is not done yet are upper bounds: lower them when something is done, never raise them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "fairask"

#: Imports of private names or modules of another package that are still to be removed.
PRIVATE_IMPORTS_LEFT = 0
#: Private attributes of another package's objects: (file, attribute) -> why it cannot be avoided.
ALLOWED_ATTRIBUTES: dict[tuple[str, str], str] = {
    ("studio/_trainer_process.py", "_exit"): "os._exit is how a thread ends its process",
}
#: Public class names that are still used twice.
CLASS_NAMES_LEFT: set[str] = set()
#: Calls of hasattr and getattr, and how many of them still lack a comment that says why.
MOST_PROBES, WITHOUT_REASON_LEFT = 15, 0
MOST_PARAMETERS = 12
#: Lines of a file, and lines of code of a function without its docstring and comments.
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 400, 50
#: Lines of a file of a command: it only parses and prints.
MOST_LINES_OF_A_COMMAND = 150
#: Public methods of `Study`, which is what people use; more belongs beside it.
MOST_METHODS_OF_A_STUDY = 20


@dataclass(frozen=True)
class Source:
    """One parsed file."""

    name: str
    lines: list[str]
    nodes: list[ast.AST]

    @property
    def package(self) -> str:
        """The package, or the module at the top level."""
        return self.name.split("/")[0].removesuffix(".py")

    def place(self, node: ast.AST) -> str:
        """File and line of a node."""
        return f"{self.name}:{getattr(node, 'lineno', 0)}"


@cache
def sources() -> list[Source]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        found.append(
            Source(path.relative_to(ROOT).as_posix(), text.splitlines(), list(ast.walk(ast.parse(text))))
        )
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_imports() -> Iterator[str]:
    for source in sources():
        for node in source.nodes:
            if isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            else:
                continue
            for module in modules:
                parts = module.split(".")[1:]
                if (
                    module.startswith("fairask.")
                    and parts[0] != source.package
                    and any(map(is_private, parts))
                ):
                    yield f"{source.place(node)} {module}"


def defined_names() -> dict[str, set[str]]:
    """Private names that each package defines: functions, classes, variables and attributes."""
    found: dict[str, set[str]] = defaultdict(set)
    for source in sources():
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found[source.package].add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[source.package].add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found[source.package].add(node.attr)
    return found


def private_attributes() -> Iterator[tuple[str, str, str]]:
    defined = defined_names()
    for source in sources():
        for node in source.nodes:
            if not isinstance(node, ast.Attribute) or not is_private(node.attr):
                continue
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not own and node.attr not in defined[source.package]:
                yield source.name, node.attr, source.place(node)


def probes() -> Iterator[tuple[str, bool]]:
    """Calls of hasattr and getattr, and whether a comment on the same or the previous line gives a reason."""
    for source in sources():
        for node in source.nodes:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in ("hasattr", "getattr"):
                here, before = source.lines[node.lineno - 1], source.lines[node.lineno - 2]
                yield source.place(node), "# " in here or before.strip().startswith("#")


def functions_of_many_parameters() -> Iterator[str]:
    for source in sources():
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = sum(argument.arg not in ("self", "cls") for argument in given)
                if count > MOST_PARAMETERS:
                    yield f"{source.place(node)} {node.name} has {count} parameters"


def test_packages_import_only_public_names_of_each_other() -> None:
    found = sorted(private_imports())
    assert len(found) <= PRIVATE_IMPORTS_LEFT, "\n".join(found)


def test_packages_touch_only_public_attributes_of_each_other() -> None:
    wrong = [
        f"{place} {attribute}"
        for name, attribute, place in private_attributes()
        if (name, attribute) not in ALLOWED_ATTRIBUTES
    ]
    assert not wrong, "\n".join(wrong)


def test_public_class_names_are_unique() -> None:
    places = defaultdict(list)
    for source in sources():
        for node in source.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(source.place(node))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert set(twice) <= CLASS_NAMES_LEFT, twice


def test_capabilities_are_declared_and_not_probed() -> None:
    found = list(probes())
    per_file = Counter(place.split(":")[0] for place, _ in found)
    assert len(found) <= MOST_PROBES, per_file
    silent = [place for place, reason in found if not reason]
    assert len(silent) <= WITHOUT_REASON_LEFT, "\n".join(silent)


def test_functions_have_few_parameters() -> None:
    wrong = list(functions_of_many_parameters())
    assert not wrong, "\n".join(wrong)


def lines_of_code(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its signature, docstring, comments and empty lines."""
    body = function.body[ast.get_docstring(function) is not None :]
    lines = source.lines[body[0].lineno - 1 : function.end_lineno] if body else []
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def test_files_are_short() -> None:
    top = ROOT.parents[1]
    lines = {
        path.relative_to(top).as_posix(): len(path.read_text("utf-8").splitlines())
        for folder in ("src", "benchmarks", "paper")
        for path in (top / folder).rglob("*.py")
    }
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_functions_are_short() -> None:
    wrong = [
        f"{source.place(node)} {node.name} has {lines_of_code(source, node)} lines"
        for source in sources()
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and lines_of_code(source, node) > MOST_LINES_OF_A_FUNCTION
    ]
    assert not wrong, "\n".join(wrong)


def test_commands_only_parse_and_print() -> None:
    wrong = [
        f"{source.name}: {len(source.lines)}"
        for source in sources()
        if source.package == "cli"
        and not Path(source.name).stem.startswith("_")
        and len(source.lines) > MOST_LINES_OF_A_COMMAND
    ]
    assert not wrong, wrong


def test_a_study_has_few_public_methods() -> None:
    (found,) = (
        node
        for source in sources()
        if source.name == "study/study.py"
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and node.name == "Study"
    )
    methods = [
        node.name
        for node in found.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)
    ]
    assert len(methods) <= MOST_METHODS_OF_A_STUDY, methods


def test_pyarrow_reads_from_buffers_and_not_from_python_files() -> None:
    """A thread of pyarrow closes a Python file late; where the interpreter ends just then, it aborts."""
    wrong = [
        source.place(node)
        for source in sources()
        for node in source.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read_table", "read_csv", "ParquetFile", "open_csv")
        and node.args
        and isinstance(node.args[0], ast.Call)
        and ast.unparse(node.args[0].func) in ("io.BytesIO", "BytesIO", "open")
    ]
    assert not wrong, wrong


def test_the_map_of_the_source_names_files_and_types_that_are_there() -> None:
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    files = [*ROOT.rglob("*.py"), *ROOT.rglob("*.js"), *ROOT.parents[1].glob("tests/*.py")]
    ends = {"/".join(file.parts[-n:]) for file in files for n in range(1, 5)}
    assert [name for name in re.findall(r"`([\w/]+\.(?:py|js))`", page) if name not in ends] == []
    table = page.partition("## Types that carry it")[2].partition("\n## ")[0]
    found = {
        name for line in table.splitlines()[4:] for name in re.findall(r"`(\w+)`", line.split("|")[1:2][0])
    }
    assert len(found) > 20
    text = "\n".join(file.read_text("utf-8") for file in ROOT.rglob("*.py"))
    assert [name for name in sorted(found) if not re.search(rf"^(class )?{name}\b", text, re.M)] == []
