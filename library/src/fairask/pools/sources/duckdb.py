"""A table of a DuckDB file, by its address: ``duckdb:///people.db?table=people``."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from fairask.errors import UserError, suggest
from fairask.pools.sources.engine import EngineTable, keyed
from fairask.tables.arrow import optional

SCHEME = "duckdb"


def is_address(place: str) -> bool:
    """Whether a place is a table of a DuckDB file.

    Examples
    --------
    >>> is_address("duckdb:///people.db?table=people"), is_address("people.parquet")
    (True, False)
    """
    return place.startswith(f"{SCHEME}://")


def _parts(place: str) -> tuple[Path, dict[str, str]]:
    parts = urlsplit(place)
    # As in other addresses of databases: three slashes and a path from here, or four and one from the root.
    path = unquote(parts.path)[1:]
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if parts.netloc or not path or not set(options) <= {"table", "key"}:
        raise UserError(
            f"{place!r} is not the address of a table of DuckDB",
            "Give duckdb:///FILE?table=NAME, and &key=COLUMN for a view",
        )
    return Path(path), options


def absolute_address(place: str) -> str:
    """Return an address that is valid in every working folder.

    Examples
    --------
    >>> absolute_address("duckdb:////data/people.db?table=loans")
    'duckdb:////data/people.db?table=loans'
    """
    path, _ = _parts(place)
    query = urlsplit(place).query
    return f"{SCHEME}:///{path.expanduser().resolve()}" + (f"?{query}" if query else "")


def open_duckdb(place: str) -> EngineTable:
    """Open a table of a DuckDB file, which is only read.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with duckdb.connect(f"{folder}/people.db") as database:
    ...         _ = database.execute("CREATE TABLE people AS SELECT 30 AS age, 'f' AS sex")
    ...     table = open_duckdb(f"duckdb:///{folder}/people.db?table=people")
    ...     table.sizes, table.schema.names
    ([1], ['age', 'sex'])
    """
    duckdb = optional("duckdb", "duckdb")
    path, options = _parts(place)
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    try:
        database = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        first = str(error).strip().partition("\n")[0]
        raise UserError(f"{path} cannot be read as a DuckDB file: {first}", "Check the file") from error
    names = [
        row[0] for row in database.execute("SELECT table_name FROM information_schema.tables").fetchall()
    ]
    wanted = options.get("table", names[0] if len(names) == 1 else "")
    if wanted not in names:
        what = f"{path.name} has no table {wanted!r}" if wanted else f"{path.name} has {len(names)} tables"
        raise UserError(what, f"Name one with ?table=NAME: {suggest(wanted, names)}")
    return keyed(database.table(f'"{wanted}"'), options.get("key"), name=wanted)
