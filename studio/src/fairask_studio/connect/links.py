"""The link between a study and a tool, as the log has it, and the token with which answers come in."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, replace

from fairask_studio import Study, StudyError
from fairask_studio.events import ToolLinked
from fairask_studio.tools import Refused


@dataclass(frozen=True)
class Link:
    """What a link is to be; see :func:`ensure_link`."""

    name: str
    tool: str  #: "labelstudio" or "webhook"
    url: str
    project: int | None = None
    protected: bool = False  #: whether the protected columns are sent
    predictions: bool = False  #: whether the model's predictions are sent; they sway people

    @classmethod
    def of(cls, linked: ToolLinked) -> Link:
        """Return the link that the log has."""
        options = linked.options or {}
        return cls(linked.link, linked.tool, linked.url, linked.project, **options)

    def linked(self, token: str, people: dict[str, str] | None) -> ToolLinked:
        """Return the event that makes the link so."""
        options = {"protected": self.protected, "predictions": self.predictions}
        return ToolLinked(self.name, self.tool, self.url, token, self.project, options, people)


def _hash(token: str) -> str:
    # Tokens are 192 random bits, so a plain hash is as safe as a slow one.
    return hashlib.sha256(token.encode()).hexdigest()


def ensure_link(study: Study, link: Link, who: str, *, renew: bool = False) -> str:
    """Write the link into the log unless it is there; return a new token, or an empty text.

    Parameters
    ----------
    study : Study
    link : Link
        What it is to be.
    who : str
        Who links the tool.
    renew : bool
        Whether to make another token; the old one ends.

    Examples
    --------
    >>> import tempfile
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> with Study.create(tempfile.mkdtemp() + "/loans", pool, protected="sex") as study:
    ...     link = Link("webhook", "webhook", "https://example.org/rows")
    ...     len(ensure_link(study, link, "ada")), len(ensure_link(study, link, "ada"))
    (32, 0)
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", link.name):
        raise StudyError(f"{link.name!r} cannot be a link's name; 1 to 32 letters, digits and dashes")
    with study.lock:
        now = study.state().outside.links.get(link.name)
    if now is not None and now.tool != link.tool:
        raise StudyError(f"the link {link.name!r} is one of {now.tool}; choose another name with --name")
    if now is not None and now.tool == "labelstudio" and now.url != link.url:
        # Another server counts its annotations anew: their numbers would be mistaken for known ones.
        raise StudyError(f"the link {link.name!r} is to {now.url}; choose another name with --name")
    known = now is not None and not renew
    if now is not None and known and Link.of(now) == link:
        return ""
    new = "" if known else secrets.token_urlsafe(24)
    kept = now.token if known and now is not None else _hash(new)
    people = None if now is None or now.url != link.url else now.people
    study.store.append(who, link.linked(kept, people))
    return new


def name_people(study: Study, name: str, people: dict[str, str]) -> None:
    """Write the names of a tool's people into the log if any is new."""
    with study.lock:
        now = study.state().outside.links[name]
    known = now.people or {}
    if any(known.get(number) != who for number, who in people.items()):
        study.store.append("fairask", replace(now, people={**known, **people}))


def is_token(linked: ToolLinked, token: str) -> bool:
    """Whether this is the token of a link."""
    return hmac.compare_digest(linked.token, _hash(token))


@dataclass(frozen=True)
class LinkCounts:
    """What went through a link: rows sent, answers taken, and answers refused with the reason."""

    place: str
    sent: int
    taken: int
    refused: list[Refused]


def link_counts(study: Study) -> dict[str, LinkCounts]:
    """Return what went through each link of a study, by name."""
    with study.lock:
        outside = study.state().outside
        return {
            name: LinkCounts(
                linked.url if linked.project is None else f"{linked.url}/projects/{linked.project}",
                len(outside.sent.get(name, ())),
                sum(key[0] == name and not answer.gone for key, answer in outside.taken.items()),
                [found for found in outside.refused.values() if found.link == name],
            )
            for name, linked in outside.links.items()
        }
