"""An encoder, groups and linear rules as expressions of an engine: features, codes and doubt of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from fairask.metrics import Float
from fairask.pools.coders import Coder, Decision, Group, Predictions
from fairask.pools.codes import LinearCuts, linear_cuts
from fairask.pools.sources.engine import EngineTable
from fairask.rules import GroupLinearRule, LinearRule
from fairask.tables import Encoder, GroupColumns, TableError
from fairask.tables.arrow import Arrow, optional
from fairask.tables.encoder import Category, Number
from fairask.tables.groups import protected_columns

#: Different values of a column of texts, or combinations of protected columns, that become expressions.
_MOST_VALUES = 10_000
_GROUP, _FEATURE, _SCORE, _SAYS = "__group__", "__f{}__", "__s{}__", "__p{}__"


def linear_rules_of(coder: Coder) -> list[LinearRule | GroupLinearRule] | None:
    """Return the rules of a coder that an engine can compute; None if there are others."""
    if isinstance(coder, Group):
        return []
    if not isinstance(coder, Predictions) or (isinstance(coder, Decision) and len(coder.rules) > 1):
        return None
    rules = [rule for rule in coder.rules if isinstance(rule, LinearRule | GroupLinearRule)]
    return rules if len(rules) == len(coder.rules) else None


@dataclass(frozen=True)
class Features:
    """The columns of a table as expressions: one group code, and single precision features.

    Attributes
    ----------
    group : expression
    features : list of expressions
    largest : float
        Largest absolute value of all features in the table.
    """

    group: nw.Expr
    features: list[nw.Expr]
    largest: float

    @classmethod
    def of(cls, table: EngineTable, encoder: Encoder, protected: GroupColumns) -> Features | None:
        """Look at the table once; None where a column has no expression (dates, free text)."""
        group = _group(table, protected)
        parts = [_part(table, part) for part in encoder.parts]
        if group is None or any(part is None for part in parts):
            return None
        features = [one for part in parts if part is not None for one in part]
        return cls(group, features, _largest(table, encoder, features))


def _distinct(table: EngineTable, columns: Sequence[str]) -> Arrow | None:
    """The different rows of these columns; None if there are too many."""
    found = table.collect(table.frame.select(*columns).unique().head(_MOST_VALUES + 1))
    return None if found.num_rows > _MOST_VALUES else found


def _is(name: str, value: Any) -> nw.Expr:
    if value is None:
        return nw.col(name).is_null()
    if isinstance(value, float) and value != value:
        return nw.col(name).is_nan()
    return nw.col(name) == nw.lit(value)


def _group(table: EngineTable, protected: GroupColumns) -> nw.Expr | None:
    """The code of each row's group, by the values that occur."""
    names = protected_columns(protected.columns, table.schema.names)
    found = _distinct(table, names)
    if found is None:
        return None
    batch = found.combine_chunks().to_batches()[0]
    codes = protected.codes(batch)  # refuses groups that are not known
    code: nw.Expr = nw.lit(0, dtype=nw.Int64())
    for row, number in zip(found.to_pylist(), codes.tolist(), strict=True):
        if number:
            hits = [_is(name, row[name]) for name in names]
            same = hits[0]
            for hit in hits[1:]:
                same = same & hit
            code = nw.when(same).then(nw.lit(number, dtype=nw.Int64())).otherwise(code)
    return code


def _part(table: EngineTable, part: object) -> list[nw.Expr] | None:
    """The features of a column; None where an engine cannot compute them as we do."""
    if isinstance(part, Number):
        return _number(table, part)
    if isinstance(part, Category):
        return _category(table, part)
    return None


def _number(table: EngineTable, part: Number) -> list[nw.Expr] | None:
    types = optional("pyarrow", "parquet").types
    kind, column = table.schema.field(part.name).type, nw.col(part.name)
    if not (
        types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind) or types.is_boolean(kind)
    ):
        return None
    if types.is_boolean(kind):
        column = column.cast(nw.Int32())
    missing = column.is_null()
    if types.is_floating(kind):
        missing = missing | column.is_nan()
    if part.mean == 0.0 and part.scale == 1.0:
        value = column if types.is_float32(kind) else column.cast(nw.Float32())
    elif types.is_float32(kind):
        value = (column - _single(part.mean)) * _single(1.0 / part.scale)
    else:
        double = column.cast(nw.Float64()) - nw.lit(part.mean, dtype=nw.Float64())
        value = (double * nw.lit(1.0 / part.scale, dtype=nw.Float64())).cast(nw.Float32())
    if part.fill:
        value = nw.when(missing).then(_single(0.0)).otherwise(value)
    return [value, missing.cast(nw.Float32())] if part.missing else [value]


def _category(table: EngineTable, part: Category) -> list[nw.Expr] | None:
    """By the values that occur: which of them set a feature is asked of the part itself."""
    found = _distinct(table, [part.name])
    if found is None:
        return None
    values = found.column(part.name).to_pylist()
    out = np.zeros((len(part.features), len(values)), dtype=np.float32)
    part.write(found.column(part.name).combine_chunks(), out)
    features = []
    for sets in out:
        hit = nw.lit(value=False)
        known = [value for value, one in zip(values, sets, strict=True) if one and value is not None]
        if known:
            hit = (
                nw.when(nw.col(part.name).is_null())
                .then(nw.lit(value=False))
                .otherwise(nw.col(part.name).cast(nw.String()).is_in(known))
            )
        if any(one and value is None for value, one in zip(values, sets, strict=True)):
            hit = hit | nw.col(part.name).is_null()
        features.append(hit.cast(nw.Float32()))
    return features


def _single(value: float) -> nw.Expr:
    return nw.lit(float(np.float32(value)), dtype=nw.Float32())


def _largest(table: EngineTable, encoder: Encoder, features: list[nw.Expr]) -> float:
    """Find the largest value of all features; refuse infinite ones, and missing ones that are not filled."""
    looks: dict[str, Any] = {}
    for i, feature in enumerate(features):
        looks |= {f"low{i}": feature.min(), f"high{i}": feature.max()}
    bare = [part for part in encoder.parts if isinstance(part, Number) and not part.fill]
    for part in bare:
        looks[f"n {part.name}"] = nw.col(part.name).count()
        if optional("pyarrow", "parquet").types.is_floating(table.schema.field(part.name).type):
            looks[f"nan {part.name}"] = nw.col(part.name).is_nan().cast(nw.Int64()).sum()
    found = table.collect(table.frame.select(**looks)).to_pylist()[0]
    for part in bare:
        if found[f"n {part.name}"] < sum(table.sizes) or found.get(f"nan {part.name}"):
            raise TableError(
                f"column {part.name!r} has missing values", "Use preprocess='standardize', which fills them"
            )
    names = [name for part in encoder.parts for name in [part.name] * len(part.features)]
    extremes = np.array(
        [[found[f"low{i}"], found[f"high{i}"]] for i in range(len(features))], dtype=np.float64
    )
    for name, extreme in zip(names, extremes, strict=True):
        if not np.isfinite(extreme).all():
            raise TableError(f"column {name!r} has infinite values", "Clip them, or leave the column out")
    return float(np.abs(extremes).max())


def coded_frame(
    frame: nw.LazyFrame[Any], features: Features, coder: Coder, single: bool
) -> nw.LazyFrame[Any]:
    """Add ``__group__``, ``__code__`` and ``__doubt__`` (whether rounding could change the code) to a frame.

    Scores are computed in single precision if ``single``, else in double precision. Either way a row within
    rounding of a cut is in doubt and must be decided by the client.
    """
    frame = frame.with_columns(features.group.alias(_GROUP))
    rules = linear_rules_of(coder)
    assert rules is not None
    if not rules:
        return frame.with_columns(__code__=nw.lit(0, dtype=nw.Int64()), __doubt__=nw.lit(value=False))
    kind = nw.Float32() if single else nw.Float64()
    cuts = linear_cuts(rules, features.largest, np.float32 if single else np.float64)
    frame = frame.with_columns(
        *[
            (feature if single else feature.cast(kind)).alias(_FEATURE.format(j))
            for j, feature in enumerate(features.features)
        ]
    )
    frame = frame.with_columns(
        *[_score(beta, kind).alias(_SCORE.format(i)) for i, beta in enumerate(cuts.beta)]
    )
    frame = frame.with_columns(
        *[
            (nw.col(_SCORE.format(i)) > _cut(cuts.upper[i], kind)).alias(_SAYS.format(i))
            for i in range(len(rules))
        ]
    )
    return frame.with_columns(__code__=_code(coder, len(rules)), __doubt__=_doubt(cuts, kind))


def _score(beta: Float, kind: Any) -> nw.Expr:
    total: nw.Expr | None = None
    for j, weight in enumerate(beta[:-1].tolist()):
        term = nw.lit(weight, dtype=kind) * nw.col(_FEATURE.format(j))
        total = term if total is None else total + term
    assert total is not None
    return total


def _cut(cut: Float, kind: Any) -> nw.Expr:
    """A rule's cut: one number, or one for each group."""
    # Not every engine has a literal for infinity; no score comes near these.
    most = float(np.finfo(cut.dtype).max)
    values = np.clip(cut, -most, most).tolist()
    found = nw.lit(values[0], dtype=kind)
    for group in range(1, len(values)):
        found = nw.when(nw.col(_GROUP) == group).then(nw.lit(values[group], dtype=kind)).otherwise(found)
    return found


def _code(coder: Coder, rules: int) -> nw.Expr:
    if isinstance(coder, Decision):
        return nw.col(_SAYS.format(0)).cast(nw.Int64())
    # Narrow numbers are added up faster.
    kind = nw.Int32() if rules <= 31 else nw.Int64()
    code: nw.Expr | None = None
    for i in range(1, rules):
        bit = (nw.col(_SAYS.format(i)) != nw.col(_SAYS.format(0))).cast(kind) * nw.lit(
            1 << (i - 1), dtype=kind
        )
        code = bit if code is None else code + bit
    assert code is not None
    return code.cast(nw.Int64())


def _doubt(cuts: LinearCuts, kind: Any) -> nw.Expr:
    doubt: nw.Expr | None = None
    for i in range(len(cuts.beta)):
        above = nw.col(_SCORE.format(i)) > _cut(cuts.lower[i], kind)
        one = above != nw.col(_SAYS.format(i))
        doubt = one if doubt is None else doubt | one
    assert doubt is not None
    return doubt
