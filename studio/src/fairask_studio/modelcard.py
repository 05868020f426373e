"""The model card of an exported model, written through skops."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairask.audit import Certificate
from fairask.report.words import METRIC_NAMES, safety_sentence
from fairask_studio._errors import StudyError
from fairask_studio._fitting import fit_entry
from fairask_studio.events import Document
from fairask_studio.model import TableModel

if TYPE_CHECKING:
    from fairask_studio.study import Study

_OUT_OF_FOLD = (
    "From training labels, each predicted by a model fitted without it, with 95 % intervals. They are no "
    "certificate."
)
_NOT_CERTIFIED = "None: this model has not been audited, or its audit did not certify it."


def model_card(study: Study, model: TableModel) -> str:
    """Return the model card of a study's model as Markdown.

    It says what the model decides, from which columns, what must be alike between which groups, what was
    estimated and what was certified. What only its owner knows is marked for the owner to fill in.

    Parameters
    ----------
    study : Study
    model : TableModel
        The exported model.
    """
    config, oracle = study.config, model.oracle
    negative, positive = config.classes
    goal, what = config.learner, METRIC_NAMES[config.learner.metric]
    certified = bool((model.fairask_ or {}).get("certified"))
    learner = study.learner(at=study.state().trained_to)
    # Labels that were told and not fitted yet have no entry in the log.
    fitted = study.state().model or fit_entry(learner, study.rows.encoder.feature_names_out)
    card = _skops_card()(model, model_diagram=False, template=None)
    card.add(
        **{
            "Model description": (
                f"Decides between {negative!r} and {positive!r}. Fitted by fairask on "
                f"{len(learner.labelled_indices_):,} labels of a pool of {config.rows:,} rows, chosen by "
                f"{learner.strategy.name}."
            ),
            "Model description/Intended use": "To be filled in by the owner: who decides what with it.",
            "Model description/Input": (
                f"A data frame with the columns {_listed(model.columns_)}, in any order; others are ignored. "
                + (
                    "Decisions read the protected columns."
                    if oracle.needs_groups
                    else "Decisions do not read the protected columns."
                )
            ),
            "Fairness": (
                f"The {what} is to be at most {goal.tolerance:g} between the groups "
                f"{_listed([str(g) for g in oracle.groups_])} of {config.protected!r}."
                + ("" if certified else _safety_words(fitted, goal.tolerance, config.rows))
            ),
            "Fairness/Certificate": _certificate_words(study) if certified else _NOT_CERTIFIED,
            "How to use": (
                '```python\nfrom fairask_studio import load_model\nmodel = load_model("model.skops")\n'
                "model.predict(frame)\n```"
            ),
            "Limitations": "To be filled in by the owner. Estimates from training labels are no certificate.",
        }
    )
    _add_estimates(card, fitted["estimate"], what, goal.tolerance)
    return str(card.render())


def _certificate_words(study: Study) -> str:
    certificate = Certificate.from_dict(study.state().certificates[-1])
    rests = "\n".join(f"- {text}" for text in certificate.assumptions)
    return f"{certificate.headline()}\n\nIt rests on:\n\n{rests}"


def _safety_words(fitted: Document, tolerance: float, rows: int) -> str:
    said = safety_sentence(fitted, tolerance, rows)
    return "" if said is None else f"\n\n{said}"


def _add_estimates(card: Any, guess: Document | None, what: str, tolerance: float) -> None:
    """Add the study's estimates: what the oracle expects of its own model would flatter it."""
    if guess is None:
        card.add(Estimates="None: there are too few labels.")
        return
    gap = guess["violation"]
    found = {
        "accuracy": _interval(guess["accuracy"]),
        what: "unknown: a group has too few labels" if gap is None else _interval(gap),
        "tolerance": f"{tolerance:g}",
    }
    card.add_metrics(section="Estimates", description=_OUT_OF_FOLD, **found)
    rates = {f"{rate['condition']}, {rate['group']}": [_interval(rate)] for rate in guess["rates"]}
    card.add_table(**{"Estimates/Share decided positive": rates})


def _interval(guess: Document) -> str:
    if guess["value"] is None:
        return "unknown"
    return f"{guess['value']:.3f} ({guess['low']:.3f} to {guess['high']:.3f})"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _skops_card() -> Any:
    try:
        return importlib.import_module("skops.card").Card
    except ImportError as error:  # pragma: no cover - depends on the installation
        raise StudyError("model cards are written through skops: pip install 'fairask-studio'") from error
