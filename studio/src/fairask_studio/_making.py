"""A new study becomes a database, and a database becomes a state and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairask.tables import TextColumns, read_table
from fairask_studio._errors import StudyError
from fairask_studio._fitting import make_learner
from fairask_studio._pool import from_parquet, to_parquet
from fairask_studio._reference import PoolReference
from fairask_studio._rows import StudyTable, rows_of, with_sample
from fairask_studio._settings import make_config
from fairask_studio.events import Document, StudyCreated
from fairask_studio.snapshot import read_state
from fairask_studio.state import State
from fairask_studio.store import Store


@dataclass(frozen=True)
class StudyRequest:
    """What is asked of a new study; see :meth:`Study.create`."""

    protected: str | Sequence[str]
    hide: Sequence[str]
    words: Mapping[str, Document]
    text: TextColumns | None
    random_state: int | None
    settings: Document

    def write(self, target: str, table: StudyTable | Mapping[str, Sequence[object]], who: str) -> None:
        """Make the study; what is wrong with the pool or a setting is found before anything is written."""
        table = read_table(table) if isinstance(table, Mapping) else table
        try:
            config, table = make_config(
                table, self.protected, self.hide, self.words, self.random_state, self.settings, self.text
            )
            learner = make_learner(rows_of(table, config), config)
        except (ValueError, TypeError) as error:
            raise StudyError(str(error)) from error
        table = with_sample(table, learner)
        if isinstance(table, PoolReference):
            data, sha256, reference = None, table.sha256, table.to_dict()
        else:
            (data, sha256), reference = to_parquet(table), None
        created = StudyCreated({**config.to_dict(), "pool_sha256": sha256}, reference)
        Store.create(target, data, created, who)


def read_stored(store: Store) -> tuple[State, StudyTable]:
    """Read the state of a study, and its table or the reference to it."""
    with store.read() as turn:
        state = read_state(turn)
    if state.pool is not None:
        return state, PoolReference.from_dict(state.pool)
    return state, from_parquet(store.read_pool(), state.config.pool_sha256)
