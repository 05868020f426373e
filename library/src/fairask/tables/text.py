"""Columns of free text: counted n-grams, or the vectors of a language model that is on this machine."""

from __future__ import annotations

import base64
import hashlib
import heapq
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fairask.errors import TableError
from fairask.tables.arrow import Arrow, Column, Out, optional
from fairask.tables.cells import coded, text_of

#: Most different texts that a column of free text is fitted on, and most characters read of each.
MOST_TEXTS = 10_000
LONGEST_TEXT = 10_000
#: A column whose values have more words than this on average is free text.
WORDS_OF_TEXT = 5
#: Values with more words than this on average are no codes or names: they may be short texts.
WORDS_OF_NAMES = 1.9
#: Word and character n-grams that are kept, the most frequent ones, and features that they become.
VOCABULARY, TOPICS = 5000, 100
#: Characters of a text whose n-grams of characters are counted; words are counted in all of it.
_PIECES_FROM = 2000
#: A word, or one sign of a script that is written without blanks.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def count_words(texts: Iterable[str]) -> float:
    """Return the average number of words; a Chinese, Japanese or Korean sign counts as one.

    >>> count_words(["two words", "one"]), count_words(["東京都"])
    (1.5, 3.0)
    """
    return float(np.mean([len(_WORD.findall(text)) for text in texts] or [0]))


def sample_texts(texts: Iterable[str]) -> list[str]:
    """Return different texts that a model is fitted on, sorted: those with the smallest hashes.

    >>> sample_texts(["b", "a", "b"])
    ['a', 'b']
    """
    hashes = {
        text[:LONGEST_TEXT]: zlib.crc32(text[:LONGEST_TEXT].encode("utf-8", "surrogatepass"))
        for text in texts
    }
    return sorted(heapq.nsmallest(MOST_TEXTS, hashes, key=lambda text: (hashes[text], text)))


@dataclass(frozen=True)
class Text:
    """TF-IDF of word and character n-grams, projected on the main directions of the texts of the pool.

    Attributes
    ----------
    name : str
    words, pieces : tuple of str
        The n-grams of words and of characters.
    packed : str
        Weights of the n-grams, directions and their means, as base64 of half-precision numbers.
    missing : bool
        Add a feature that is 1 where the text is missing.
    """

    name: str
    words: tuple[str, ...]
    pieces: tuple[str, ...]
    packed: str = field(repr=False)
    missing: bool = False

    @cached_property
    def features(self) -> list[str]:
        """Names of the features made from this column."""
        names = [f"{self.name} topic {i + 1}" for i in range(self._numbers.shape[0] - 1)]
        return [*names, f"{self.name} is missing"] if self.missing else names

    @cached_property
    def _numbers(self) -> npt.NDArray[np.float64]:
        """One row of weights, and one row for each direction; the last column holds the means."""
        raw = np.frombuffer(zlib.decompress(base64.b64decode(self.packed)), dtype="<f2")
        return raw.reshape(-1, len(self.words) + len(self.pieces) + 1).astype(np.float64)

    def write(self, column: Column, out: Out) -> None:
        """Write this column's features into ``out`` of shape (features, rows)."""
        values, codes = coded(column)
        texts = [text_of(value) for value in values]
        topics = len(self._numbers) - 1
        table = np.zeros((topics, len(values) + 1))
        if values:
            counts = _tfidf([text or "" for text in texts], self.words, self.pieces, self._numbers[0, :-1])
            table[:, :-1] = (counts @ self._numbers[1:, :-1].T).T - self._numbers[1:, -1:]
        unknown = np.array([*(text is None for text in texts), True])
        table[:, unknown] = 0.0
        out[:topics] = table[:, codes]
        if self.missing:
            out[-1] = unknown[codes]

    def to_list(self) -> list[object]:
        """Return plain values for JSON."""
        return ["text", self.name, list(self.words), list(self.pieces), self.packed, self.missing]


def fit_text(name: str, texts: Sequence[str], missing: bool) -> Text | str:
    """Fit the features of a column of texts, or say why there are none.

    >>> part = fit_text("note", ["good service", "bad service", "good food", "bad food"], False)
    >>> part.features[:2]
    ['note topic 1', 'note topic 2']
    """
    from sklearn.utils.extmath import randomized_svd

    words, word_weights = _vocabulary(texts, "word")
    pieces, piece_weights = _vocabulary(texts, "char_wb")
    width = len(words) + len(pieces)
    if width < 2:
        return "free text without a word that occurs twice"
    weights = np.array([*word_weights, *piece_weights], dtype=np.float16)
    counts = _tfidf(texts, words, pieces, weights.astype(np.float64))
    topics = min(TOPICS, width, len(texts))
    _, _, found = randomized_svd(counts, topics, n_iter=4, random_state=0)
    scores = counts @ found.T
    spread = float(scores.std(axis=0).max())
    if spread < 1e-6:
        return "free text that differs in no word that occurs twice"
    # One scale for all directions: those that explain little stay small, and are shrunk most.
    directions = np.hstack([found, scores.mean(axis=0)[:, None]]) / spread
    numbers = np.vstack([np.append(weights, 0.0), directions]).astype("<f2")
    packed = base64.b64encode(zlib.compress(numbers.tobytes(), 6)).decode()
    return Text(name, tuple(words), tuple(pieces), packed, missing)


def _vocabulary(texts: Sequence[str], analyzer: str) -> tuple[list[str], list[float]]:
    """Return the n-grams of most texts, and their inverse document frequencies."""
    found = _counter(analyzer, None, 2 if len(texts) > 20 else 1)
    try:
        counts = found.fit_transform(_shortened(texts, analyzer))
    except ValueError:  # no n-gram at all
        return [], []
    terms = found.get_feature_names_out()
    frequency = np.bincount(counts.indices, minlength=len(terms))
    kept = np.sort(np.lexsort((terms, -frequency))[:VOCABULARY])
    weights = np.log((1 + len(texts)) / (1 + frequency[kept])) + 1
    return terms[kept].tolist(), weights.tolist()


def _tfidf(
    texts: Sequence[str], words: Sequence[str], pieces: Sequence[str], weights: npt.NDArray[np.float64]
) -> Arrow:
    """Return weighted n-grams, a sparse matrix; words and characters have length 1 each in every text."""
    from scipy import sparse
    from sklearn.preprocessing import normalize

    parts, at = [], 0
    for analyzer, terms in (("word", words), ("char_wb", pieces)):
        if not terms:
            continue
        counts = _counter(analyzer, terms, 1).transform(_shortened(texts, analyzer)).astype(np.float64)
        counts.data = (1 + np.log(counts.data)) * weights[at + counts.indices]
        parts.append(normalize(counts, copy=False))
        at += len(terms)
    return sparse.hstack(parts, format="csr")


def _counter(analyzer: str, terms: Sequence[str] | None, least: int) -> Arrow:
    from sklearn.feature_extraction.text import CountVectorizer

    pattern = r"(?u)\b\w+\b" if analyzer == "word" else None
    return CountVectorizer(
        analyzer=analyzer,
        ngram_range=(1, 2) if analyzer == "word" else (3, 4),
        token_pattern=pattern,
        vocabulary=None if terms is None else list(terms),
        min_df=least,
    )


def _shortened(texts: Sequence[str], analyzer: str) -> Sequence[str]:
    return texts if analyzer == "word" else [text[:_PIECES_FROM] for text in texts]


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
