"""Forms that laws and examiners ask for, filled in from the certificate of an audit: JSON, and a page.

Every number comes from the certificate: its tally of decisions and scores by group, which needs no labels,
and its bounds. What only the owner knows is given as facts; one that is missing is left open, never made up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import fisher_exact, ttest_ind_from_stats

from fairask.audit.bounds.proportions import clopper_pearson
from fairask.audit.certificate import Certificate, seal, written
from fairask.audit.plan import QUESTIONS
from fairask.audit.signature import OwnerKey, fingerprint
from fairask.audit.tally import Category, Tally
from fairask.audit.verification import (
    Check,
    broken_seal,
    changes,
    other_signer,
    read_certificate,
    signer_words,
)
from fairask.errors import UserError, suggest
from fairask.report.figures import ON_DARK
from fairask.report.pages import template
from fairask.report.words import (
    NO_LEGAL_ADVICE,
    alternative_sentence,
    enclosed,
    hazard_sentence,
    outward,
    ratio_told,
    visible,
)
from fairask.tables.sheets import write_whole

SCHEMA, VERSION = "fairask-form", 1
#: Probability that the limits of any ratio in a table are wrong.
_DELTA = 0.05
#: A category with a smaller share may be left out of the ratios, with a reason (6 RCNY 5-301).
_SMALL = 0.02
_FOUR_FIFTHS = 0.8

Document = dict[str, Any]


@dataclass(frozen=True)
class Issued:
    """The certificate of an audit that a form is made from."""

    document: Document
    tally: Tally
    certificates: dict[str, Certificate]

    @classmethod
    def read(cls, place: str | Path) -> Issued:
        """Read the certificate of an audit; raise UserError for one that was changed, or of a study."""
        found, file = read_certificate(place)
        if "decisions" not in found or "made_from" not in found:
            raise UserError(
                f"{file} is no certificate of an audit", "Name the folder that fairask audit wrote"
            )
        if problems := changes(found) or other_signer(found, file, None):
            raise UserError(f"{file}: {problems[0]}", "Make a form from a certificate as it was issued")
        each = {name: Certificate.from_dict(one) for name, one in found["certificates"].items()}
        return cls(found, Tally.from_dict(found["decisions"]), each)

    @property
    def about(self) -> Document:
        """What a form says of the audit."""
        made, signature = self.document["made_from"], self.document.get("signature")
        return {
            "table": made["table"],
            "table_sha256": self.document["digests"]["table"],
            "model_sha256": self.document["digests"]["model"],
            "predictions": made["predictions"],
            "groups": made["groups"],
            "issued": made["issued"],
            "verdict": self.document["verdict"],
            "certificate_sha256": self.document["sealed"],
            "signed_by": None if signature is None else fingerprint(signature["key"]),
            "version": made["version"],
        }


@dataclass(frozen=True)
class Form:
    """What a form is.

    Attributes
    ----------
    title, rule : str
    facts : dict of str to str
        What the owner must say, by name; the text says what it is.
    fill : callable
        ``(issued, beside, facts) -> content``.
    beside : bool
        Whether other models are shown beside the audited one.
    """

    title: str
    rule: str
    facts: Mapping[str, str]
    fill: Callable[[Issued, Sequence[Issued], Mapping[str, str]], Document]
    beside: bool = False


def fill_form(
    name: str,
    audit: str | Path,
    *,
    beside: Sequence[str | Path] = (),
    facts: Mapping[str, str] | None = None,
) -> Document:
    """Fill in a form from an audit.

    Parameters
    ----------
    name : str
        One of ``FORMS``.
    audit : path
        The folder of an audit that is over, or its certificate.json.
    beside : sequence of path
        Audits of other models on the same table, the plain model first (form "lda").
    facts : mapping, optional
        What the owner says, by the names in ``FORMS[name].facts``.

    Returns
    -------
    dict
        The form for JSON, sealed.
    """
    if name not in FORMS:
        raise UserError(f"unknown form {name!r}", suggest(name, FORMS))
    form, given = FORMS[name], dict(facts or {})
    for fact in given:
        if fact not in form.facts:
            raise UserError(f"form {name} has no fact {fact!r}", f"Its facts: {', '.join(form.facts)}")
    if form.beside != bool(beside):
        raise UserError(
            f"form {name} compares {'models' if form.beside else 'no models'}",
            "Name the audit of the plain model with --beside" if form.beside else "Leave out --beside",
        )
    issued, others = Issued.read(audit), [Issued.read(place) for place in beside]
    return seal(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "form": name,
            "title": form.title,
            "rule": form.rule,
            "notice": NO_LEGAL_ADVICE,
            "audit": issued.about,
            "facts": {fact: given.get(fact) for fact in form.facts},
            **form.fill(issued, others, given),
        }
    )


def render_form(document: Mapping[str, Any]) -> str:
    """Return a form as a page to print, every name escaped."""
    said = dict(document)
    page = template("form.html.j2").render(
        d=said,
        palette=ON_DARK,
        enclosed=enclosed,
        outward=outward,
        asked=FORMS[said["form"]].facts,
        signed=signer_words(said, "") if "signature" in said else "; not signed",
    )
    return visible(page)


def write_form(document: Document, stem: Path, key: OwnerKey | None = None) -> list[Path]:
    """Write a form as JSON, signed if there is a key, and as a page; return both paths."""
    made = document if key is None else key.sign(document)
    files = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".html", ".json")]
    for file, content in zip(files, (render_form(made), written(made)), strict=True):
        write_whole(file, content)
    return files


@dataclass(frozen=True)
class FormCheck(Check):
    """Whether a form is as it was made."""

    form: str
    signer: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"The form {self.form} is as it was made{self.signer}"


def is_form(file: Path) -> bool:
    """Whether a file holds a form."""
    try:
        return bool(json.loads(file.read_text("utf-8")).get("schema") == SCHEMA)
    except (OSError, ValueError, AttributeError):
        return False


def check_form(file: Path, key: str | None = None) -> FormCheck:
    """Say whether a form and the page beside it are as they were made; with a key, by its owner."""
    found, _ = read_certificate(file)
    page = file.with_suffix(".html")
    problems = [*broken_seal(found), *other_signer(found, file, key)]
    if not problems and page.exists() and page.read_text("utf-8") != render_form(found):
        problems.append(f"{page.name} does not say what {file.name} says")
    return FormCheck(str(found.get("form")), signer_words(found, key), tuple(problems))


# -- numbers that several forms have --------------------------------------------------------------


def _name(category: Category) -> str:
    return ", ".join(str(value) for value in category.values)


def _known(tally: Tally, *columns: str) -> list[Category]:
    """The categories whose values are known; raise UserError if there are none."""
    known = [category for category in tally.by(*columns) if category.known]
    if not known:
        raise UserError(
            f"no row has a known value of {' and '.join(columns)}", "Name another column with --protected"
        )
    return known


def _highest(categories: Sequence[Category]) -> str | None:
    """The names of the categories with the highest rate; None where nobody was selected."""
    top = max((c.rate for c in categories), default=0.0)
    return "; ".join(_name(c) for c in categories if c.rate == top) if top else None


def _ratio(rate: float, reference: float) -> float | None:
    """The ratio of two rates; None where there is none."""
    found = rate / reference if reference > 0 else math.nan
    return None if math.isnan(found) else found


def _plain(value: float) -> float | None:
    return None if math.isnan(value) or math.isinf(value) else float(value)


def _significance(mine: Category, best: Category) -> Document:
    """Fisher's exact test of two selection rates, and their difference in standard deviations."""
    table = [[c.selected, c.rows - c.selected] for c in (mine, best)]
    share = (mine.selected + best.selected) / (mine.rows + best.rows)
    error = math.sqrt(share * (1 - share) * (1 / mine.rows + 1 / best.rows))
    deviations = (best.rate - mine.rate) / error if error else 0.0
    return {
        "fisher_p": float(fisher_exact(table)[1]),
        "deviations": deviations,
        "two_deviations": abs(deviations) > 2,
    }


# -- New York City Local Law 144 ------------------------------------------------------------------


def _nyc(issued: Issued, beside: Sequence[Issued], facts: Mapping[str, str]) -> Document:
    tally = issued.tally
    if len(tally.columns) != 2:
        raise UserError(
            "form nyc-ll144 is by sex and by race or ethnicity, and the audit is by "
            f"{', '.join(tally.columns)}",
            "Audit with both: --protected SEX --protected RACE; --metric dp needs no labels",
        )
    tables = []
    for columns in ((tally.columns[0],), (tally.columns[1],), tally.columns):
        tables.append(_nyc_table(tally, columns, exclude="exclusion" in facts))
    return {
        "rows": tally.rows,
        "tables": tables,
        "score": tally.score,
        "median": tally.median,
        "confidence": 1 - _DELTA,
        "small_share": _SMALL,
    }


def _nyc_table(tally: Tally, columns: Sequence[str], *, exclude: bool) -> Document:
    known = _known(tally, *columns)
    people = sum(category.rows for category in known)
    small = [category.rows < _SMALL * people for category in known]
    kept = [c for c, is_small in zip(known, small, strict=True) if not (exclude and is_small)]
    if not kept:
        raise UserError(
            f"every category by {' and '.join(columns)} has under {100 * _SMALL:g} % of the people, so "
            "without them there is no ratio",
            "Leave out --fact exclusion=...",
        )
    best = max(kept, key=lambda c: c.rate)
    top_score = max((c.scoring_rate for c in kept if c.scored), default=math.nan)
    # All limits of a table hold together, whichever category turns out to be the most selected.
    level = _DELTA / (2 * len(known))
    lows, highs = clopper_pearson([c.selected for c in known], [c.rows for c in known], level)
    limits = {c.values: (float(a), float(b)) for c, a, b in zip(known, lows, highs, strict=True)}
    least, most = limits[best.values]
    rows = []
    for category, is_small in zip(known, small, strict=True):
        inside, own = category in kept, limits[category.values]
        low = high = None
        if inside and category is not best:
            low, high = own[0] / most, _plain(own[1] / least if least else math.inf)
        rows.append(
            {
                "category": _name(category),
                "values": list(category.values),
                "number": category.rows,
                "share": category.rows / people,
                "small": is_small,
                "excluded": not inside,
                "selected": category.selected,
                "selection_rate": _plain(category.rate),
                "impact_ratio": _ratio(category.rate, best.rate) if inside else None,
                "low": low,
                "high": high,
                "told": ratio_told(low, high),
                "scored": category.scored,
                "above_median": category.above,
                "scoring_rate": _plain(category.scoring_rate),
                "scoring_ratio": _ratio(category.scoring_rate, top_score) if inside else None,
            }
        )
    return {
        "by": list(columns),
        "rows": rows,
        "known": people,
        "unknown": tally.rows - people,
        "unscored": sum(category.rows - category.scored for category in known),
        "most_selected": _highest(kept),
    }


# -- Uniform Guidelines: the four-fifths rule -----------------------------------------------------


def _ugesp(issued: Issued, beside: Sequence[Issued], facts: Mapping[str, str]) -> Document:
    tables = []
    for column in issued.tally.columns:
        known = _known(issued.tally, column)
        people, best = sum(c.rows for c in known), max(known, key=lambda c: c.rate)
        rows = []
        for category in known:
            # In whole numbers: a quotient of floats may be a hair below four fifths, and a person too many.
            mine, four_fifths = 5 * category.selected * best.rows, 4 * best.selected * category.rows
            row: Document = {
                "category": _name(category),
                "number": category.rows,
                "share": category.rows / people,
                "small": category.rows < _SMALL * people,
                "selected": category.selected,
                "selection_rate": category.rate,
                "ratio": _ratio(category.rate, best.rate),
                "below_four_fifths": mine < four_fifths,
                "fisher_p": None,
                "deviations": None,
                "two_deviations": None,
                "short_of_highest": None,
                "short_of_four_fifths": None,
            }
            if category is not best:
                row |= _significance(category, best)
                # Persons more that the group would need, rounded up.
                row["short_of_highest"] = -(-best.selected * category.rows // best.rows) - category.selected
                row["short_of_four_fifths"] = max(-(-(four_fifths - mine) // (5 * best.rows)), 0)
            rows.append(row)
        tables.append(
            {
                "by": [column],
                "rows": rows,
                "highest": _highest(known),
                "known": people,
                "unknown": issued.tally.rows - people,
            }
        )
    return {"rows": issued.tally.rows, "tables": tables, "four_fifths": _FOUR_FIFTHS}


# -- EU: bias profile -----------------------------------------------------------------------------


def _eu(issued: Issued, beside: Sequence[Issued], facts: Mapping[str, str]) -> Document:
    target = issued.document["target"]
    mine = [c for name, c in issued.certificates.items() if name.partition(":")[0] == target]
    model, table = (issued.document["digests"][name][:12] for name in ("model", "table"))
    scenarios = []
    for certificate in mine:
        question = QUESTIONS[certificate.metric]
        for pair in certificate.comparisons:
            scenarios.append(
                {
                    "groups": [pair.first, pair.second],
                    "hazard": hazard_sentence(certificate.metric, pair.first, pair.second),
                    "metric": certificate.metric,
                    "measure": ("1 minus the " if question.ratio else "") + question.words.rstrip(","),
                    "threshold": certificate.tolerance,
                    "measured": _plain(pair.estimate),
                    "low": pair.lower,
                    "high": pair.upper,
                    "verdict": pair.verdict,
                    "mitigation": facts.get("mitigation"),
                }
            )
    first = mine[0]
    return {
        "about": first.target,
        "delta": first.delta,
        "computed": all(c.valid == "known" for c in mine),
        "labels": first.n_labels,
        "verdict": issued.document["verdict"],
        # The worst that the bounds allow comes first.
        "scenarios": sorted(scenarios, key=lambda s: (s["metric"], -s["high"])),
        "unclear": sorted({group for c in mine for group in c.unclear}),
        "more_labels": first.more_labels if first.verdict == "undecided" else 0,
        "assumptions": list(dict.fromkeys(text for c in mine for text in c.assumptions)),
        "review": {
            "model": model,
            "table": table,
            "triggers": [
                f"The model's decisions change: their digest is no longer {model}.",
                f"The table changes, or no longer stands for those decided about: its digest is {table}.",
                "The threshold, the groups or the purpose change.",
            ],
        },
    }


# -- Less discriminatory alternatives -------------------------------------------------------------


def _lda(issued: Issued, beside: Sequence[Issued], facts: Mapping[str, str]) -> Document:
    plain, models = beside[0], [*beside, issued]
    for one in models:
        if one.document["digests"]["table"] != plain.document["digests"]["table"]:
            raise UserError(
                f"the audits are of different tables: {plain.document['made_from']['table']} and "
                f"{one.document['made_from']['table']}",
                "Audit both models on one table: a column of predictions each",
            )
        if one.tally.columns != plain.tally.columns:
            raise UserError("the audits are by different protected columns", "Audit both models by the same")
    for one in models:
        if one.document["accuracy"] is None:
            raise UserError(
                f"the audit of {one.document['made_from']['predictions']} has no labels, so no accuracy",
                "Audit with labels: --known COLUMN, or --metric tprp",
            )
    tables: list[Document] = []
    for column in plain.tally.columns:
        known = _known(plain.tally, column)
        reference = max(known, key=lambda c: c.rate)
        tables.append(
            {
                "by": [column],
                "reference": _name(reference),
                "unknown": plain.tally.rows - sum(c.rows for c in known),
                "models": [_impacts(one.tally, column, reference.values) for one in models],
            }
        )
    shown = []
    for at, one in enumerate(models):
        certificate = next(iter(one.certificates.values()))
        impacts = [row["impact_ratio"] for table in tables for row in table["models"][at]]
        shown.append(
            {
                "predictions": one.document["made_from"]["predictions"],
                "plain": one is plain,
                "score": one.tally.score,
                "accuracy": one.document["accuracy"],
                "least_impact_ratio": min((v for v in impacts if v is not None), default=None),
                "verdict": one.document["verdict"],
                "headline": certificate.headline(),
                "issued": one.document["made_from"]["issued"],
                "model_sha256": one.document["digests"]["model"],
                "certificate_sha256": one.document["sealed"],
            }
        )
    first, compared = shown[0], []
    for other in shown[1:]:
        if None in (first["least_impact_ratio"], other["least_impact_ratio"]):
            continue
        a, b = first["accuracy"], other["accuracy"]
        counted = all(one["low"] == one["high"] for one in (a, b))
        sure = counted or a["high"] < b["low"] or b["high"] < a["low"]
        compared.append(
            alternative_sentence(
                other["predictions"],
                first["predictions"],
                other["least_impact_ratio"],
                first["least_impact_ratio"],
                b["value"] - a["value"],
                sure,
            )
        )
    return {"models": shown, "tables": tables, "compared": compared}


def _impacts(tally: Tally, column: str, reference: tuple[str | None, ...]) -> list[Document]:
    """Adverse impact ratios and standardised mean differences of a model, by the groups of a column."""
    known = _known(tally, column)
    base = next(category for category in known if category.values == reference)
    whole = known[0]
    for category in known[1:]:
        whole += category
    # The standard deviation of all scores, of whatever group.
    deviation = math.sqrt(whole.spread / (whole.scored - 1)) if whole.scored > 1 else 0.0
    rows = []
    for category in known:
        row: Document = {
            "category": _name(category),
            "number": category.rows,
            "selected": category.selected,
            "selection_rate": category.rate,
            "impact_ratio": _ratio(category.rate, base.rate),
            "fisher_p": None,
            "deviations": None,
            "two_deviations": None,
            "mean_score": category.mean if category.scored else None,
            "mean_difference": None,
            "t_p": None,
        }
        if category is not base:
            row |= _significance(category, base)
            if deviation and min(category.scored, base.scored) > 1:
                row["mean_difference"] = (category.mean - base.mean) / deviation
                spreads = [math.sqrt(c.spread / (c.scored - 1)) for c in (category, base)]
                with np.errstate(invalid="ignore", divide="ignore"):
                    tested = ttest_ind_from_stats(
                        category.mean, spreads[0], category.scored, base.mean, spreads[1], base.scored,
                        equal_var=False,
                    )  # fmt: skip
                row["t_p"] = _plain(float(tested.pvalue))
        rows.append(row)
    return rows


_SOURCE = "Source of the data, and the time they are from"
FORMS: dict[str, Form] = {
    "nyc-ll144": Form(
        "Bias audit results",
        "New York City Local Law 144 of 2021; 6 RCNY 5-300 to 5-304",
        {
            "tool": "Tool that was audited",
            "distribution_date": "Date on which this version of the tool was first used",
            "auditor": "Independent auditor",
            "data_source": _SOURCE,
            "data_kind": "Historical or test data; if test data, why, and how they were made",
            "exclusion": "Why categories under 2 % are left out of the ratios",
        },
        _nyc,
    ),
    "ugesp": Form(
        "Adverse impact by the four-fifths rule",
        "Uniform Guidelines on Employee Selection Procedures, 29 CFR 1607.4 D",
        {
            "job": "Job or selection procedure",
            "data_source": _SOURCE,
        },
        _ugesp,
    ),
    "eu-bias-profile": Form(
        "Bias profile",
        "Regulation (EU) 2024/1689, Articles 10, 11 and 15 and Annex IV",
        {
            "system": "AI system and version",
            "purpose": "Intended purpose",
            "affected": "People about whom it decides",
            "mitigation": "Mitigation",
            "data_source": _SOURCE,
            "responsible": "Who reviews this profile, and when",
        },
        _eu,
    ),
    "lda": Form(
        "Search for a less discriminatory alternative",
        "Disparate impact in lending: adverse impact ratio and standardised mean difference at the policy's "
        "cut-off",
        {
            "policy": "Policy and its cut-off",
            "purpose": "Business need that the model serves",
            "search": "How alternatives were searched for",
            "data_source": _SOURCE,
        },
        _lda,
        beside=True,
    ),
}
