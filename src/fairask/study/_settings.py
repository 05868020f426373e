"""From what somebody asks for to a study's settings, checked against its pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairask.exceptions import suggest
from fairask.study._config import Config, check_config, new_seed
from fairask.study._errors import StudyError
from fairask.study._pool import column_infos

__all__ = ["make_config"]

#: Settings that follow from the pool.
_DERIVED = {"columns", "rows", "pool_sha256", "protected"}


def make_config(
    table: Any,
    protected: str,
    hide: Iterable[str],
    words: Mapping[str, Mapping[str, Any]],
    random_state: int | None,
    settings: Mapping[str, Any],
) -> Config:
    """Settings of a study of ``table``; raise StudyError or ValueError where they make no sense.

    Examples
    --------
    >>> from fairask.study._pool import table_of
    >>> pool = table_of({"age": [20, 30], "sex": ["f", "m"]})
    >>> make_config(pool, "sex", (), {}, 0, {"tolerance": 0.05}).budget
    2
    """
    known = set(Config.__dataclass_fields__) - _DERIVED
    for name in settings:
        if name not in known:
            raise StudyError(f"{name!r} is no setting of a study; {suggest(name, known)}")
    chosen = {"budget": min(250, table.num_rows), **settings}
    if "classes" in chosen:
        chosen["classes"] = tuple(str(name) for name in chosen["classes"])
        if len(chosen["classes"]) != 2:
            raise StudyError(f"classes={chosen['classes']!r} must be two names, the positive one second")
    use_protected = bool(chosen.get("use_protected", False))
    config = Config(
        protected=protected,
        columns=column_infos(table, protected, use_protected=use_protected, hide=hide, words=words),
        rows=table.num_rows,
        random_state=new_seed() if random_state is None else random_state,
        **chosen,
    )
    check_config(config)
    return config
