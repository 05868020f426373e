"""The model card of an exported model, written through skops."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairask.certify import Certificate
from fairask.plotting import METRIC_NAMES
from fairask.study._errors import StudyError
from fairask.study.model import TableModel

if TYPE_CHECKING:
    from fairask.study.study import Study

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
            ),
            "Fairness/Certificate": _certificate_words(study) if certified else _NOT_CERTIFIED,
            "How to use": (
                '```python\nfrom fairask.study import load_model\nmodel = load_model("model.skops")\n'
                "model.predict(frame)\n```"
            ),
            "Limitations": "To be filled in by the owner. Estimates from training labels are no certificate.",
        }
    )
    estimates = {"accuracy": 1.0 - oracle.error_, what: oracle.violation_, "tolerance": goal.tolerance}
    card.add_metrics(section="Estimates", description="From training labels.", **_rounded(estimates))
    rates = {name: [round(float(rate), 3)] for name, rate in _plain_rates(oracle).items()}
    card.add_table(**{"Estimates/Share decided positive": rates})
    return str(card.render())


def _certificate_words(study: Study) -> str:
    certificate = Certificate.from_dict(study.state().certificates[-1])
    rests = "\n".join(f"- {text}" for text in certificate.assumptions)
    return f"{certificate.headline()}\n\nIt rests on:\n\n{rests}"


def _plain_rates(oracle: Any) -> dict[str, float]:
    return {
        key if isinstance(key, str) else f"{key[0]}, {key[1]}": rate for key, rate in oracle.rates_.items()
    }


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(float(value), 3) for name, value in values.items()}


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _skops_card() -> Any:
    try:
        return importlib.import_module("skops.card").Card
    except ImportError as error:  # pragma: no cover - depends on the installation
        raise StudyError("model cards are written through skops: pip install 'fairask[studio]'") from error
