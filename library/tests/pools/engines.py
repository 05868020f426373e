"""A table in an engine, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest


@contextmanager
def people_in(engine: str, given: pa.Table, types: str, folder: Path) -> Iterator[str]:
    """Copy a table into DuckDB, or a real server of PostgreSQL; yield its address, with its key."""
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(folder / "people.db")) as database:
            database.execute("CREATE TABLE people AS SELECT * FROM given")
        yield f"duckdb:///{folder}/people.db#people:id"
        return
    psycopg = pytest.importorskip("psycopg")
    from studio.tests.study.postgres import running

    with running() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE TABLE people ({types})")
            with connection.cursor().copy("COPY people FROM STDIN") as copy:
                for row in given.to_pylist():
                    copy.write_row(tuple(row.values()))
        yield f"{url.replace('postgresql', 'postgres')}/postgres#people:id"
