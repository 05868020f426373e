"""From what somebody asks for to a study's settings, checked against its pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairask.errors import suggest
from fairask.learner.config import DEFAULT_BUDGET
from fairask.pools.survey import is_number
from fairask.study._errors import StudyError
from fairask.study._pool import check_columns, column_infos, idle_columns
from fairask.study._reference import PoolReference
from fairask.study.config import Config, new_seed

__all__ = ["make_config"]


def make_config(
    table: Any,
    protected: str,
    hide: Iterable[str],
    words: Mapping[str, Mapping[str, Any]],
    random_state: int | None,
    settings: Mapping[str, Any],
) -> tuple[Config, Any]:
    """Settings of a study of ``table``, and the table; a reference comes back with what a pass found.

    Raises StudyError or ValueError for settings that make no sense.

    Examples
    --------
    >>> from fairask.study._pool import table_of
    >>> pool = table_of({"age": [20, 30], "sex": ["f", "m"]})
    >>> make_config(pool, "sex", (), {}, 0, {"tolerance": 0.05})[0].budget
    2
    """
    for name in settings.keys() - Config.names():
        raise StudyError(f"{name!r} is no setting of a study; {suggest(name, Config.names())}")
    chosen = {"budget": min(DEFAULT_BUDGET, table.num_rows), **settings}
    use_protected = bool(chosen.get("use_protected", False))
    hide = list(hide)
    check_columns(table, [protected, *hide, *words])
    rows = _checked_rows(table, chosen)
    if isinstance(table, PoolReference):
        learned = [n for n in table.column_names if n not in hide and (use_protected or n != protected)]
        table, idle = table.surveyed(protected, learned)
        kinds: dict[str, Any] = {"is_number": is_number}  # a streamed boolean is the number 0 or 1
    else:
        idle, kinds = idle_columns(table), {}
    config = Config.make(
        protected=protected,
        columns=column_infos(
            table.schema, protected, use_protected=use_protected, hide=hide, words=words, idle=idle, **kinds
        ),
        rows=rows,
        random_state=new_seed() if random_state is None else random_state,
        **chosen,
    )
    return config, table


def _checked_rows(table: Any, chosen: Mapping[str, Any]) -> int:
    """Rows of the pool; settings are checked against it before a pass over it, not after."""
    Config.make(protected="", rows=table.num_rows, **chosen)
    return int(table.num_rows)
