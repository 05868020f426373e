"""What the words mean: for ``fairask explain``, and for whoever shows a term."""

from __future__ import annotations

from dataclasses import dataclass

from fairask.errors import UserError, suggest


@dataclass(frozen=True)
class Term:
    """A word, what it means in a sentence or two, and an example with numbers."""

    name: str
    meaning: str
    example: str = ""
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        also = f" (also: {', '.join(self.also)})" if self.also else ""
        return "\n".join(part for part in (f"{self.name}{also}", self.meaning, self.example) if part)


TERMS = (
    Term(
        "gap",
        "The largest difference of a rate between two groups. The metric says which rate.",
        "If 80 of 100 suitable women and 90 of 100 suitable men are invited, the gap is 0.10.",
        ("violation",),
    ),
    Term(
        "tolerance",
        "The largest gap that you accept. The paper calls it alpha.",
        "With --tolerance 0.1 rates of 0.80 and 0.89 are accepted; 0.80 and 0.95 are not.",
        ("alpha",),
    ),
    Term(
        "level",
        "The probability with which a model's gap must be within the tolerance, given the labels so far.",
        "At level 0.95 about 1 model in 20 may be above the tolerance. A certificate says more.",
    ),
    Term(
        "tprp",
        "True positive rate parity: each group has the same share of its positive rows accepted.",
        "Of those who would repay, the same share gets the loan in each group.",
        ("equal opportunity",),
    ),
    Term(
        "fprp",
        "False positive rate parity: each group has the same share of its negative rows accepted.",
        "Of those who would not repay, the same share gets the loan in each group.",
    ),
    Term(
        "eo",
        "Equalized odds: tprp and fprp together. The gap is the larger of the two.",
        also=("equalized odds",),
    ),
    Term(
        "dp",
        "Demographic parity: the same share of all rows is accepted per group, whatever their labels.",
        "It needs no labels to check, and it is the wrong aim where the groups' labels truly differ.",
        ("demographic parity",),
    ),
    Term(
        "protected column",
        "The column whose values are the groups that must be treated alike, such as sex or age band.",
        "Annotators do not see it unless the study was made with --show-protected. Models made on the "
        "command line do not use it unless you say --use-protected. In Python, FairActiveLearner uses it "
        "(one threshold per group) unless you say blind=True.",
        ("protected attribute", "sensitive features"),
    ),
    Term(
        "group",
        "Rows with the same value of the protected column. Several protected columns make a group of each "
        "combination; age:30,50 cuts a number into three bands.",
    ),
    Term(
        "positive",
        "The label that counts as 1, such as 'approved' or 'repaid': the outcome that people want. Rates "
        "are shares of rows that get it. --positive names it; in fairask new it is the last of --classes.",
        "Of a well-known pair such as no, yes the good word is taken, and a note says so.",
        ("positive label",),
    ),
    Term("pool", "The unlabelled rows from which fairask chooses the ones to label."),
    Term(
        "study",
        "A folder or database that keeps the pool, every row that was asked for and every answer. fairask "
        "new makes one.",
    ),
    Term("budget", "The number of labels that you will pay for. Labels of an audit are extra."),
    Term("batch", "The rows that are chosen together. After each batch the model is fitted again."),
    Term(
        "strategy",
        "How rows are chosen: fare (the default), passive, group_balanced, uncertainty, fal, falcur, "
        "falcon or panda.",
    ),
    Term("blind", "A model that does not use the protected column when it decides."),
    Term(
        "propensity",
        "The probability with which a row was drawn, stored when it was drawn. Labels are weighted by it, so "
        "that rows chosen on purpose still speak for the whole pool.",
        "A row drawn with four times the usual probability counts a quarter.",
    ),
    Term(
        "fare",
        "The method of the paper: it draws rows on which several fair models disagree, and rows of every "
        "group, so that each group's rate is known well. Labels are weighted by their propensities.",
    ),
    Term(
        "component",
        "Why FARE drew a row, as fairask status counts it: diff (several fair models disagree on such rows), "
        "fair (such rows tell a group's rate) or uniform (every row had the same chance).",
        also=("diff", "fair", "uniform"),
    ),
    Term(
        "passive",
        "Passive sampling: every row of the pool is drawn with the same probability. The model is "
        "fitted as for any other strategy; only the choice of rows differs.",
        also=("passive sampling",),
    ),
    Term(
        "certificate",
        "A statement about a finished model from labels that were drawn for the audit: certified (the gap is "
        "at most the tolerance), refuted (it is above), or undecided. It is wrong with probability at most "
        "delta.",
        "fairask audit and fairask study certify exit with 0 (certified), 1 (refuted) or 3 (undecided).",
    ),
    Term(
        "audit",
        "It draws rows by group and decision, and asks for their labels until the gap is known well enough "
        "for a certificate. Its labels train no model.",
    ),
    Term(
        "delta",
        "The probability with which a certificate may be wrong; 0.05 unless you say otherwise.",
    ),
    Term("stratum", "Rows of an audited pool with the same group and the same decision of the model."),
    Term(
        "margin",
        "What is subtracted from the tolerance when a model is fitted on few labels, because the gap in the "
        "sample differs from the gap in the population.",
    ),
    Term(
        "profile",
        "What a learner is made of where you say nothing else: 'calibrated' (the default), or 'paper' (the "
        "method as published).",
    ),
    Term(
        "infeasible",
        "With these labels no useful rule is known to be within the tolerance with the level asked for. The "
        "most accurate rule within a larger tolerance is returned, with a warning that names it. More labels "
        "of the smallest group help most.",
    ),
)


def explain(word: str) -> Term:
    """Return the meaning of a word.

    Examples
    --------
    >>> print(explain("violation"))
    gap (also: violation)
    The largest difference of a rate between two groups. The metric says which rate.
    If 80 of 100 suitable women and 90 of 100 suitable men are invited, the gap is 0.10.
    """
    by_name = {name: term for term in TERMS for name in (term.name, *term.also)}
    wanted = word.strip().lower().replace("_", " ").replace("-", " ")
    if wanted not in by_name:
        raise UserError(f"no explanation of {word!r}", suggest(wanted, by_name))
    return by_name[wanted]
