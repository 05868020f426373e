"""Make the settings of a study from what was asked for, checked against its pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairask.defaults import BUDGET
from fairask.errors import suggest
from fairask.tables import TextColumns, fit_encoder, group_names
from fairask.tables.groups import as_specs, protected_columns
from fairask_studio._errors import StudyError
from fairask_studio._pool import check_columns, column_infos
from fairask_studio._reference import PoolReference
from fairask_studio._rows import StudyTable
from fairask_studio.config import Config, check_stop, new_seed
from fairask_studio.display import guess_displays
from fairask_studio.events import Document, Happening, LimitsChanged, StopRuleChanged, StudyReworded


def make_config(
    table: StudyTable,
    protected: str | Sequence[str],
    hide: Iterable[str],
    words: Mapping[str, Document],
    random_state: int | None,
    settings: Document,
    text: TextColumns | None = None,
) -> tuple[Config, StudyTable]:
    """Return the settings of a study of ``table``, and the table; a reference with what a pass found.

    Raises StudyError or ValueError for settings that make no sense.

    Examples
    --------
    >>> from fairask.tables import read_table
    >>> pool = read_table({"age": [20, 30], "sex": ["f", "m"]})
    >>> make_config(pool, "sex", (), {}, 0, {"tolerance": 0.05})[0].budget
    2
    """
    for name in settings.keys() - Config.names():
        raise StudyError(f"{name!r} is not a setting of a study; {suggest(name, Config.names())}")
    chosen = {"budget": min(BUDGET, table.num_rows), **settings}
    use_protected = bool(chosen.get("use_protected", False))
    hide = list(hide)
    specs = as_specs(protected)
    grouped = protected_columns(specs, table.column_names)
    check_columns(table, [*hide, *words])
    rows = _checked_rows(table, chosen)
    learned = [n for n in table.column_names if n not in hide and (use_protected or n not in grouped)]
    if isinstance(table, PoolReference):
        table = table.surveyed(specs, learned, text)
        assert table.facts is not None
        encoder, kept = table.facts.encoder, None
    else:
        group_names(table, specs)  # refuses what cannot be groups
        encoder = fit_encoder(table, learned, text)
        kept = encoder.to_dict()
    config = Config.make(
        protected=specs[0] if len(specs) == 1 else specs,
        columns=column_infos(
            table.schema,
            grouped,
            hide=hide,
            words=words,
            idle=encoder.left_out,
            displays=guess_displays(table),
        ),
        encoder=kept,
        rows=rows,
        random_state=new_seed() if random_state is None else random_state,
        **chosen,
    )
    return config, table


def _checked_rows(table: StudyTable, chosen: Document) -> int:
    """Return the rows of the pool; settings are checked against it before a pass over it, not after."""
    Config.make(protected="", rows=table.num_rows, **chosen)
    return int(table.num_rows)


def checked_changes(
    config: Config, limits: LimitsChanged, stop: str | None, words: StudyReworded
) -> list[Happening]:
    """Return the events that change settings, or raise for one that makes no sense."""
    changes: list[Happening] = []
    if limits.to_data():
        config.limited(limits)
        changes.append(limits)
    if stop is not None:
        check_stop(stop)
        changes.append(StopRuleChanged(stop))
    if words.to_data():
        config.reworded(words)
        changes.append(words)
    return changes
