"""Known answers from a file: columns ``row`` and ``gold`` and, if wanted, ``use`` and ``explanation``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairask.tables.labels import match_labels
from fairask.tables.sheets import CHECK, ReturnedRow, check_returned, plain_cell
from fairask_studio._errors import StudyError
from fairask_studio.files import read_records, row_number
from fairask_studio.known import GOLD, KnownRow

if TYPE_CHECKING:
    from fairask_studio.study import Study

_OWN = ("row", "gold", "use", "explanation", "label", "note", CHECK)


def read_known(study: Study, path: Path, *, unchecked: bool = False) -> list[KnownRow]:
    """Read known answers from CSV or Parquet; lines without one are left out.

    Unless ``unchecked``, other columns and check codes are compared with the pool.

    Examples
    --------
    >>> import tempfile
    >>> from fairask_studio import Study
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "gold.csv").write_text("row,age,gold,explanation\\n2,40,1,Of age.\\n3,50,,\\n")
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> with Study.create(folder / "loans", pool, protected="sex") as study:
    ...     read_known(study, folder / "gold.csv")
    [KnownRow(row=2, label=1, use='gold', why='Of age.')]
    """
    found: list[tuple[int, str, str, str]] = []
    returned = []
    for line, record in enumerate(read_records(path, ("row", "gold"), _OWN), 2):
        answer = plain_cell(_text(record["gold"]))
        if not answer:
            continue
        row = study.config.check_row(row_number(record["row"], f"{path.name}, line {line}"))
        use = _text(record.get("use")).lower() or GOLD
        found.append((row, answer, use, plain_cell(_text(record.get("explanation")))))
        cells = {str(n).removesuffix(" (pool)"): v for n, v in record.items() if n not in _OWN}
        code = None if record.get(CHECK) is None else _text(record[CHECK])
        returned.append(ReturnedRow(row, str(row), code, cells))
    if not found:
        raise StudyError(f"{path.name} holds no known answer", "Fill in the column 'gold'")
    if not unchecked:
        check_returned(path.name, returned, {row: study.row(row) for row, *_ in found})
    labels, _ = match_labels([said[1] for said in found], study.config.classes, [said[0] for said in found])
    classes = study.config.classes
    return [
        KnownRow(row, classes.index(label), use, why)
        for (row, _, use, why), label in zip(found, labels, strict=True)
    ]


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()
