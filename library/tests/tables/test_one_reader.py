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
from fairask.experiment.open import open_table
from fairask.experiment.streamed import StreamedTable

from fairask.audit.table import open_audit_table
from fairask.errors import UserError
from fairask.experiment.table import MemoryTable, TableColumns
from fairask.tables import read_table
from fairask_studio import Study

N = 60
Found = tuple[Any, list[str]]


def simulated(path: Path, stream: bool, folder: Path) -> Found:
    """Features and groups as ``fairask simulate`` has them."""
    table = open_table(str(path), TableColumns("y", "g", "1", use_protected=True), stream=stream)
    if isinstance(table, StreamedTable):
        rows = np.arange(table.rows)
        return table.pool.take(rows), table.groups_of(rows).tolist()
    assert isinstance(table, MemoryTable)
    return table.X, table.groups.tolist()


def studied(path: Path, stream: bool, folder: Path) -> Found:
    """Features and groups as ``fairask new`` has them."""
    with Study.create(folder / "s", path, protected="g", hide=["y"], use_protected=True, budget=5) as study:
        return study.learner().X, np.array(study.groups)[study.codes].tolist()


def audited(path: Path, stream: bool, folder: Path) -> Found:
    """Groups as ``fairask audit`` has them; it reads no features."""
    table = open_audit_table(str(path), predictions="y", protected="g", positive="1")
    return None, table.groups.tolist()


COMMANDS: dict[str, Callable[[Path, bool, Path], Found]] = {
    "simulate": simulated,
    "new": studied,
    "audit": audited,
}


def outcome(command: str, path: Path, stream: bool, folder: Path) -> tuple[Found | None, str]:
    """What a command made of a file, or what it said is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return COMMANDS[command](path, stream, folder), ""
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


def same(found: dict[str, tuple[Found | None, str]]) -> None:
    """All commands, in memory and streamed, agree."""
    assert not any(said for _, said in found.values()), found
    made = {name: result for name, (result, _) in found.items() if result is not None}
    X, groups = made["simulate False"]
    for name, (other, theirs) in made.items():
        if other is not None:
            np.testing.assert_allclose(other, X, atol=2e-6, err_msg=name)
        assert theirs == groups, name


@pytest.mark.parametrize("name", GOOD)
def test_every_command_makes_the_same_of_a_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(GOOD[name]), path, row_group_size=13)
    same(
        {
            f"{command} {stream}": outcome(command, path, stream, tmp_path / f"{command} {stream}")
            for command in COMMANDS
            for stream in (False, True)
        }
    )


def test_a_dictionary_column_of_parquet_is_a_category_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    coded = pa.array(["u", "v", "w"] * (N // 3)).dictionary_encode()
    groups = pa.array(columns()["g"]).dictionary_encode()
    pq.write_table(pa.table({**columns(c=coded), "g": groups}), path, row_group_size=7)
    found = {
        f"{command} {stream}": outcome(command, path, stream, tmp_path / f"{command} {stream}")
        for command in COMMANDS
        for stream in (False, True)
    }
    same(found)
    assert found["new True"][0][0].shape == (N, 4)  # type: ignore[index]


@pytest.mark.parametrize("name", BAD)
def test_every_command_refuses_the_same_table_in_the_same_words(name: str, tmp_path: Path) -> None:
    table, words = BAD[name]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(table), path, row_group_size=13)
    said = {
        f"{command} {stream}": outcome(command, path, stream, tmp_path / f"{command} {stream}")[1]
        for command in COMMANDS
        for stream in (False, True)
    }
    assert len(set(said.values())) == 1, said
    assert words in said["new True"]


@pytest.mark.parametrize("name", FILES)
def test_every_command_refuses_the_same_file_in_the_same_words(name: str, tmp_path: Path) -> None:
    content, words = FILES[name]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    said = {command: outcome(command, path, False, tmp_path / command)[1] for command in COMMANDS}
    assert len(set(said.values())) == 1, said
    assert words in said["new"]


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
    found = {f"{c} False": outcome(c, path, False, tmp_path / f"{c} False") for c in COMMANDS}
    found |= {f"{c} True": outcome(c, copy, True, tmp_path / f"{c} True") for c in COMMANDS}
    same(found)


def test_a_label_with_three_values_needs_a_positive_one(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({**columns(), "y": ["lo", "hi", "mid", "hi"] * (N // 4)}), path, row_group_size=13
    )
    said = []
    for stream in (False, True):
        with pytest.raises(UserError, match="has 3 values: 'hi', 'lo', 'mid'") as caught:
            open_table(str(path), TableColumns("y", "g"), stream=stream)
        said.append(str(caught.value))
    assert len(set(said)) == 1


def test_rows_without_a_label_are_left_out_in_memory_and_streamed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    labels = [None if i % 9 == 0 else y for i, y in enumerate(columns()["y"])]
    pq.write_table(pa.table({**columns(), "y": labels}), path, row_group_size=13)
    found = [simulated(path, stream, tmp_path) for stream in (False, True)]
    np.testing.assert_allclose(found[0][0], found[1][0], atol=2e-6)
    assert found[0][1] == found[1][1]
    tables = [open_table(str(path), TableColumns("y", "g"), stream=stream) for stream in (False, True)]
    assert tables[0].base_rate == tables[1].base_rate
    assert tables[0].group_shares == tables[1].group_shares
    assert [n for t in tables for n in t.notes].count("7 rows have no value in 'y' and were left out") == 2


def test_unseen_levels_have_no_feature_set(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns(c=["u", "v"] * (N // 2))), path)
    with Study.create(tmp_path / "s", path, protected="g", hide=["y"], budget=5) as study:
        encoder = study.encoder
    matrix = pa.table({"x": [1.0, 1.0], "c": ["w", "u"]})
    first, second = encoder.transform(matrix).tolist()
    assert first == second
