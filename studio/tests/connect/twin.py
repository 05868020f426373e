"""The same study labelled without a connector: it must draw the same rows with the same propensities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairask_studio import Study
from fairask_studio.study import propose_uniform

__all__ = ["same_draws"]

_SAME = ("rows", "propensities", "components", "pool_sizes")


def same_draws(study: Study, table: dict[str, list[Any]], folder: Path) -> int:
    """Label a new study by hand in the order of the log; compare all draws and return how many rows."""
    created = study.store.events()[0].data["config"]
    keys = ("classes", "budget", "batch_size", "random_state", "overlap", "metric", "tolerance", "strategy")
    rows = 0
    with Study.create(folder, table, protected="sex", **{key: created[key] for key in keys}) as twin:
        # Answers may come while a drawing or fit is computed: it knows what it read.
        events = sorted(study.store.events(), key=lambda event: (event.data.get("seen", event.id), event.id))
        for event in events:
            data = event.data
            if event.kind == "proposed":
                count = len(data["rows"])
                # The studio draws uniformly for people who wait while the trainer is late.
                late = propose_uniform(twin.state(), count).rows == data["rows"]
                assert twin.draw(count, uniform=late) is not None
                made = twin.store.events()[-1].data
                differ = {key: (made[key], data[key]) for key in _SAME if made[key] != data[key]}
                assert not differ, f"batch {data['batch']}, uniform={late}: {differ}"
                rows += len(data["rows"])
            elif event.kind == "labelled":
                twin.tell([data["row"]], [twin.config.classes[data["label"]]], event.who)
            elif event.kind == "skipped":
                twin.skip([data["row"]], event.who)
            elif event.kind == "corrected":
                twin.tell([data["row"]], [twin.config.classes[data["label"]]], event.who, correct=True)
            elif event.kind == "withdrawn":
                twin.withdraw(data["row"], event.who)
                twin.give_back(event.who, [data["row"]])
            elif event.kind == "fitted":
                assert twin.refit(force=True) is not None
            elif event.kind == "audit" and data["size"]:
                twin.start_audit(data["size"])
            elif event.kind == "certified":
                assert twin.certify()["verdict"] == data["verdict"]
    return rows
