"""The studio on a study whose pool stays where it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi.testclient import TestClient

from fairask_studio import Study, refer
from fairask_studio.pages import create_app
from studio.tests.pages.conftest import signed
from studio.tests.study.conftest import people_table


def test_people_label_and_owners_watch_a_streamed_study(tmp_path: Path) -> None:
    table = people_table(300)
    pq.write_table(pa.table(table), tmp_path / "people.parquet", row_group_size=50)
    with Study.create(
        tmp_path / "s", refer(tmp_path / "people.parquet"), protected="sex", budget=60, batch_size=20,
        random_state=0,
    ) as study:  # fmt: skip
        study.draw()
        with TestClient(create_app(study, train=False), base_url="http://localhost") as browser:
            client = signed(browser)
            for _ in range(20):
                (card,) = client.post("/api/next", json={"count": 1}).json()["cards"]
                shown = {field["name"]: field["value"] for field in card["fields"]}
                assert shown["job"] == table["job"][card["row"]]
                label = str(int(table["income"][card["row"]] > 0.2))
                told = client.post("/api/answers", json={"row": card["row"], "label": label})
                assert told.status_code == 201, told.text
            assert study.refit() is not None
            assert client.get("/api/status").json()["labels"] == 20
            other = next(row for row in range(300) if row not in study.state().cells)
            assert client.get(f"/api/rows/{other}").json()["row"] == other
            features = client.get("/api/model").json()["features"]
            assert features == ["income", "debt", "job: none", "job: smith"]
