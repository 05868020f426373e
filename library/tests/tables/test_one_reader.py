"""The same file gives the same matrix, the same groups and the same refusals in simulate, new and audit."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairask.audit.predictions import open_audit_table
from fairask.errors import UserError
from fairask.experiment import LabelledTable
from fairask.tables import read_table
from fairask_studio import Study

N = 60
Found = tuple[Any, list[str]]


def simulated(path: Path, folder: Path) -> Found:
    """Features and groups as ``fairask simulate`` has them."""
    table = LabelledTable.open(str(path), label="y", protected="g", positive="1", use_protected=True)
    return table.X, table.groups.tolist()


def studied(path: Path, folder: Path) -> Found:
    """Features and groups as ``fairask new`` has them."""
    with Study.create(folder / "s", path, protected="g", hide=["y"], use_protected=True, budget=5) as study:
        return study.learner().pool.X, np.array(study.groups)[study.codes].tolist()


def audited(path: Path, folder: Path) -> Found:
    """Groups as ``fairask audit`` has them; it reads no features."""
    table = open_audit_table(str(path), predictions="y", protected="g", positive="1")
    return None, table.groups.tolist()


COMMANDS: dict[str, Callable[[Path, Path], Found]] = {
    "simulate": simulated,
    "new": studied,
    "audit": audited,
}


def outcome(command: str, path: Path, folder: Path) -> tuple[Found | None, str]:
    """What a command made of a file, or what it said is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return COMMANDS[command](path, folder), ""
    except UserError as error:
        return None, error.what


def columns(**more: Any) -> dict[str, Any]:
    return {
        "g": ["a", "b"] * (N // 2),
        "x": [float(i * i % 17) for i in range(N)],
        **more,
        "y": [0, 0, 1, 1] * (N // 4),
    }


GOOD: dict[str, dict[str, Any]] = {
    "plain": columns(),
    "missing values": columns(m=[None if i % 7 == 0 else float(i % 5) for i in range(N)],
                              c=[None if i % 5 == 0 else "uv"[i % 2] for i in range(N)]),
    "constant column": columns(k=["same"] * N, e=[None] * N),
    "one value or missing": columns(k=[None if i % 3 else 1 for i in range(N)]),
    "identifier column": columns(customer=[1000 + i for i in range(N)]),
    "text numbers": columns(t=[f"{i % 4},5" for i in range(N)]),
    "dates": columns(d=[datetime.date(2020, 1, 1 + i % 28) for i in range(N)],
                     t=[datetime.datetime(2020, 1, 1, i % 24) for i in range(N)]),
    "booleans": columns(b=[i % 3 == 0 for i in range(N)]),
    "many levels": columns(c=[f"level {i}" for i in range(N)]),
    "free text": columns(c=[f"a long remark about the person number {i}" for i in range(N)]),
    "blanks around texts": columns(c=[(" u", "u ", "v", " ")[i % 4] for i in range(N)]),
    "groups that are numbers": columns() | {"g": [1.0, 2.0] * (N // 2)},
    "groups that are booleans": columns() | {"g": [True, False] * (N // 2)},
    "groups with blanks": columns() | {"g": ["a", " b", "a ", "b"] * (N // 4)},
    "missing groups": columns() | {"g": ["a", "b", None] * (N // 3)},
    "nested column": columns(n=[[i] for i in range(N)]),
}  # fmt: skip

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "one group": (columns() | {"g": ["a"] * N}, "has one group only: 'a'"),
    "too many groups": (columns() | {"g": [f"g{i}" for i in range(N)]}, "has 60 values"),
    "few missing groups": (
        columns() | {"g": [None, None, *columns()["g"][2:]]},
        "has missing values in 2 rows",
    ),
    "no groups": (columns() | {"g": pa.nulls(N, pa.string())}, "has missing values only"),
    "dates as groups": (columns() | {"g": [datetime.date(2020, 1, 1 + i % 2) for i in range(N)]}, "has type"),
}

FILES: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "is empty"),
    "header only": (b"g,x,y\n", "a header and no rows"),
    "ragged rows": (b"g,x,y\na,1,0\nb,2\n", "data row 2 has 2 fields, the header has 3"),
    "duplicate headers": (b"g,x,x,y\na,1,1,0\n", "more than one column 'x'"),
    "one column": (b"g\na\n", "one column only"),
    "zero byte": (b"g,x,y\na,\0,0\n", "zero byte"),
    "web page": (b"<!doctype html>", "is a web page"),
    "parquet by another name": (b"PAR1...", "is a Parquet file, though its name says text"),
}


def same(path: Path, folder: Path) -> Found:
    """What all commands make of a file: they agree."""
    found = {command: outcome(command, path, folder / command) for command in COMMANDS}
    assert not any(said for _, said in found.values()), found
    made = {name: result for name, (result, _) in found.items() if result is not None}
    X, groups = made["simulate"]
    np.testing.assert_allclose(made["new"][0], X, atol=2e-6)
    assert made["new"][1] == made["audit"][1] == groups
    return X, groups


def refused(path: Path, folder: Path) -> str:
    """What all commands say of a file that they refuse: the same."""
    said = {command: outcome(command, path, folder / command)[1] for command in COMMANDS}
    assert len(set(said.values())) == 1, said
    return said["new"]


@pytest.mark.parametrize("name", GOOD)
def test_every_command_makes_the_same_of_a_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(GOOD[name]), path, row_group_size=13)
    same(path, tmp_path)


def test_a_dictionary_column_of_parquet_is_a_category_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    coded = pa.array(["u", "v", "w"] * (N // 3)).dictionary_encode()
    groups = pa.array(columns()["g"]).dictionary_encode()
    pq.write_table(pa.table({**columns(c=coded), "g": groups}), path, row_group_size=7)
    assert same(path, tmp_path)[0].shape == (N, 4)


def test_a_column_that_parquet_has_twice_is_named(tmp_path: Path) -> None:
    table = pa.table([*columns().values(), pa.array([1] * N)], names=[*columns(), "g"])
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    assert "has more than one column 'g'" in refused(path, tmp_path)


@pytest.mark.parametrize("name", BAD)
def test_every_command_refuses_the_same_table_in_the_same_words(name: str, tmp_path: Path) -> None:
    table, words = BAD[name]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(table), path, row_group_size=13)
    assert words in refused(path, tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_every_command_refuses_the_same_file_in_the_same_words(name: str, tmp_path: Path) -> None:
    content, words = FILES[name]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert words in refused(path, tmp_path)


@pytest.mark.parametrize("kind", ["comma", "semicolon", "tab", "mark", "blank header", "unknown values"])
def test_every_command_makes_the_same_of_a_csv_file(kind: str, tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[i % 2]},{i * i % 17},{'uvw'[i % 3]},{i // 2 % 2}\n" for i in range(N))
    text = "g,x,c,y\n" + rows
    if kind == "semicolon":
        text = text.replace(",", ";")
    elif kind == "tab":
        text = text.replace(",", "\t")
    elif kind == "mark":
        text = "\ufeff" + text
    elif kind == "blank header":
        text = text.replace("g,x,c,y", "g,x, ,y")
    elif kind == "unknown values":
        text = text.replace(",u,", ",?,").replace(",16,", ",NA,")
    path, copy = tmp_path / "t.csv", tmp_path / "t.parquet"
    path.write_text(text, encoding="utf-8")
    pq.write_table(read_table(path), copy, row_group_size=11)
    X, groups = same(path, tmp_path / "csv")
    again, same_groups = same(copy, tmp_path / "parquet")
    np.testing.assert_array_equal(again, X)
    assert same_groups == groups


def test_a_label_with_three_values_needs_a_positive_one(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({**columns(), "y": ["lo", "hi", "mid", "hi"] * (N // 4)}), path, row_group_size=13
    )
    with pytest.raises(UserError, match="has 3 values: 'hi', 'lo', 'mid'"):
        LabelledTable.open(str(path), label="y", protected="g")


def test_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    labels = [None if i % 9 == 0 else y for i, y in enumerate(columns()["y"])]
    pq.write_table(pa.table({**columns(), "y": labels}), path, row_group_size=13)
    table = LabelledTable.open(str(path), label="y", protected="g")
    assert table.rows == N - 7
    assert list(table.notes).count("7 rows have no value in 'y' and were left out") == 1


def test_unseen_levels_have_no_feature_set(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns(c=["u", "v"] * (N // 2))), path)
    with Study.create(tmp_path / "s", path, protected="g", hide=["y"], budget=5) as study:
        encoder = study.encoder
    matrix = pa.table({"x": [1.0, 1.0], "c": ["w", "u"]})
    first, second = encoder.transform(matrix).tolist()
    assert first == second
