"""Rounds of a learner as metrics of an MLflow run."""

from __future__ import annotations

import math
from typing import Any

from fairask.learner import FairActiveLearner
from fairask.tables.extras import optional


class MLflowCallback:
    """Write a learner's rounds to MLflow (``fairask[mlflow]``): call it with the learner after each batch.

    The first call writes the settings as parameters. Each call writes new rounds as metrics; the step is the
    number of labels. Once the model was audited, bounds and verdict of its certificate are written, and the
    certificate itself as ``certificate.json``. A run that is active is used; otherwise one is made.

    Parameters
    ----------
    tracking_uri, experiment : str, optional
        Where runs go, and the name of the experiment; MLflow's own settings by default.

    Attributes
    ----------
    run_id : str or None
        The run, once something was written.

    Examples
    --------
    >>> callback = MLflowCallback("sqlite:///runs.db", "loans")
    >>> callback.run_id is None  # until simulate(learner, labels, 300, callback=callback)
    True
    """

    def __init__(self, tracking_uri: str | None = None, experiment: str | None = None) -> None:
        # Here and not at the first round: a label is paid for by then.
        self._mlflow: Any = optional("mlflow", "mlflow")
        self.tracking_uri, self.experiment = tracking_uri, experiment
        self.run_id: str | None = None
        self._rounds = 0
        self._certified = ""

    def __call__(self, learner: FairActiveLearner) -> None:
        """Write what is new."""
        client = self._mlflow.MlflowClient(self.tracking_uri)
        if self.run_id is None:
            self.run_id = self._begin(client)
            for name, value in settings_of(learner).items():
                client.log_param(self.run_id, name, value)
        history = learner.state.history
        for row in history[self._rounds :]:
            for column, number in row.items():
                if math.isfinite(number):
                    step = int(row["labels"])
                    client.log_metric(self.run_id, _metric_name(column), float(number), step=step)
        self._rounds = len(history)
        certificate = learner.certificate_
        if certificate is not None and certificate.digest != self._certified:
            self._certified = certificate.digest
            step = len(learner.labelled_indices_)
            for name, bound in (("lower", certificate.lower), ("upper", certificate.upper)):
                client.log_metric(self.run_id, f"certificate.{name}", bound, step=step)
            client.set_tag(self.run_id, "fairask.verdict", certificate.verdict)
            client.log_dict(self.run_id, certificate.to_dict(), "certificate.json")

    def _begin(self, client: Any) -> str:
        """The active run, or a new one."""
        active = self._mlflow.active_run()
        if active is not None and self.tracking_uri is None:
            return str(active.info.run_id)
        name = self.experiment or "fairask"
        found = client.get_experiment_by_name(name)
        place = client.create_experiment(name) if found is None else found.experiment_id
        return str(client.create_run(place).info.run_id)


def settings_of(learner: FairActiveLearner) -> dict[str, str]:
    """The settings of a learner in words, without those that were left at their default of None.

    Examples
    --------
    >>> import numpy as np
    >>> settings_of(FairActiveLearner(np.eye(4), [0, 1, 0, 1], random_state=3))["random_state"]
    '3'
    """
    values = {
        "strategy": learner.strategy.name, "metric": learner.metric, "tolerance": learner.tolerance,
        "profile": learner.config.profile, "margin": learner.margin, "blind": learner.config.blind,
        "risk_weights": learner.risk_weights, "fairness_weights": learner.fairness_weights,
        "batch_size": learner.batch_size, "budget": learner.budget, "random_state": learner.random_state,
        "rows": learner.pool.n_rows, "groups": ", ".join(map(str, learner.groups_)),
    }  # fmt: skip
    return {name: str(value) for name, value in values.items() if value is not None}


def _metric_name(name: str) -> str:
    """MLflow allows letters, digits and few signs: ``labels[f]`` becomes ``labels.f``."""
    plain = name.replace("[", ".").replace("]", "")
    return "".join(sign if sign.isalnum() or sign in "_-. /" else "_" for sign in plain)
