"""Columns of free text through a language model that is on this machine; nothing is ever downloaded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fairask.tables.errors import TableError
from fairask.tables.extras import Column, Out, optional
from fairask.tables.limits import LONGEST_TEXT
from fairask.tables.values import coded, text_of

_REMEDY = "Give the folder of a model2vec or sentence-transformers model; fairask never downloads one"


class _Model(Protocol):
    """What both libraries have in common."""

    def encode(self, sentences: list[str]) -> npt.NDArray[np.float32]:
        """Return a vector for each text."""


@dataclass(frozen=True)
class ModelText:
    """The vector that a local model makes of a text, centred and brought to one scale.

    Attributes
    ----------
    name : str
    model : str
        Folder of the model.
    digest : str
        sha256 of the model's files; another model at the same place is refused.
    means : tuple of float
    scale : float
    missing : bool
        Add a feature that is 1 where the text is missing.
    """

    name: str
    model: str
    digest: str
    means: tuple[float, ...]
    scale: float
    missing: bool = False

    @property
    def features(self) -> list[str]:
        """Names of the features made from this column."""
        names = [f"{self.name} vector {i + 1}" for i in range(len(self.means))]
        return [*names, f"{self.name} is missing"] if self.missing else names

    def write(self, column: Column, out: Out) -> None:
        """Write this column's features into ``out`` of shape (features, rows)."""
        values, codes = coded(column)
        texts = [text_of(value) for value in values]
        table = np.zeros((len(self.means), len(values) + 1))
        known = np.array([*(text is not None for text in texts), False])
        if known.any():
            _check_digest(self.model, self.digest)
            vectors = _vectors(self.model, [text for text in texts if text is not None])
            table[:, known] = (vectors - np.array(self.means)).T / self.scale
        out[: len(self.means)] = table[:, codes]
        if self.missing:
            out[-1] = ~known[codes]

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        means = list(self.means)
        return ["model text", self.name, self.model, self.digest, means, self.scale, self.missing]


def fit_model_text(name: str, texts: Sequence[str], missing: bool, model: str) -> ModelText:
    """Fit means and scale of the vectors that a local model makes of texts."""
    folder = str(Path(model).resolve())
    vectors = _vectors(folder, list(texts))
    means = np.round(vectors.mean(axis=0), 6)
    scale = round(max(float((vectors - means).std(axis=0).max()), 1e-6), 6)
    return ModelText(name, folder, _digest(folder), tuple(means.tolist()), scale, missing)


def _vectors(folder: str, texts: list[str]) -> npt.NDArray[np.float64]:
    return np.asarray(_load(folder).encode([text[:LONGEST_TEXT] for text in texts]), dtype=np.float64)


@cache
def _load(folder: str) -> _Model:
    path = Path(folder)
    if not path.is_dir():
        raise TableError(f"there is no text model in {folder}", _REMEDY)
    transformer = (path / "modules.json").exists() or (path / "config_sentence_transformers.json").exists()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        if transformer:
            library = optional("sentence_transformers", "text")
            found: _Model = library.SentenceTransformer(folder, device="cpu", local_files_only=True)
        else:
            found = optional("model2vec", "text").StaticModel.from_pretrained(folder)
    except ImportError as error:
        raise TableError(f"the text model in {folder} cannot be used", str(error)) from error
    except (OSError, ValueError, KeyError) as error:
        raise TableError(f"{folder} is not a text model: {error}", _REMEDY) from error
    return found


@cache
def _digest(folder: str) -> str:
    total = hashlib.sha256()
    for file in sorted(p for p in Path(folder).rglob("*") if p.is_file() and p.suffix != ".md"):
        with file.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def _check_digest(folder: str, digest: str) -> None:
    _load(folder)
    if _digest(folder) != digest:
        raise TableError(f"the text model in {folder} is not the one that was used before", "Restore it")
