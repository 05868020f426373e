"""Comments to moderate, made up: topics, a dialect that goes with the group, and insults."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

TOPICS = {
    "football": "goal match striker referee penalty league coach season stadium defender",
    "cooking": "recipe onion butter oven sauce flavour dinner garlic simmer pastry",
    "politics": "vote senate budget reform party minister tax campaign ballot policy",
    "music": "album guitar chorus concert drummer melody festival lyric studio vinyl",
    "travel": "flight hotel beach luggage passport museum ticket island train hostel",
    "games": "level console quest patch controller boss server loot arcade sequel",
}
COMMON = [
    "the",
    "and",
    "is",
    "was",
    "this",
    "that",
    "it",
    "of",
    "to",
    "with",
    "really",
    "about",
    "people",
    "think",
    "just",
    "very",
    "never",
    "always",
    "some",
]
#: What a speaker of the dialect writes instead.
DIALECT = {"the": "da", "this": "dis", "that": "dat", "with": "wit", "really": "hella", "people": "folks",
           "think": "reckon", "just": "jus", "very": "mad", "never": "neva", "about": "bout"}  # fmt: skip
INSULTS = ["idiot", "moron", "stupid", "trash", "garbage", "pathetic", "loser", "clown", "disgusting", "shut"]
#: Harsh words that friends also use, more often in the dialect.
HARSH = ["damn", "hell", "crap", "sucks", "dumb", "crazy", "ugly", "nasty"]


def comments(n: int, seed: int = 0) -> pa.Table:
    """A table with columns comment, likes, replies, hour, group and toxic."""
    rng = np.random.default_rng(seed)
    dialect = rng.random(n) < 0.35
    toxic = rng.random(n) < np.where(dialect, 0.22, 0.42)
    texts = [_comment(rng, bool(d), bool(t)) for d, t in zip(dialect, toxic, strict=True)]
    return pa.table(
        {
            "comment": texts,
            "likes": rng.poisson(np.where(toxic, 5, 7)),
            "replies": rng.poisson(np.where(toxic, 3, 2)),
            "hour": rng.integers(0, 24, n),
            "group": np.where(dialect, "dialect", "standard"),
            "toxic": np.where(toxic, "yes", "no"),
        }
    )


def _comment(rng: np.random.Generator, dialect: bool, toxic: bool) -> str:
    topic = list(TOPICS)[rng.choice(6, p=[0.1, 0.2, 0.3, 0.15, 0.15, 0.1] if toxic else None)]
    words = [*rng.choice(TOPICS[topic].split(), 4), *rng.choice(COMMON, rng.integers(6, 14))]
    if toxic:
        # Insults are rarer among dialect speakers, whose toxic comments are harder to tell.
        words += list(rng.choice(INSULTS, rng.binomial(3, 0.3 if dialect else 0.55)))
    elif rng.random() < 0.06:
        words += list(rng.choice(INSULTS, 1))  # quoted, or in jest
    words += list(rng.choice(HARSH, rng.binomial(2, 0.5 if toxic or dialect else 0.15)))
    if dialect:
        words = [DIALECT.get(word, word) if rng.random() < 0.7 else word for word in words]
    return " ".join(words[i] for i in rng.permutation(len(words)))
