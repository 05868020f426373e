"""Fits and audits of a study in its log: when a model is fitted, judged and certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairask.pools import Pool
from fairask_studio import events as happened
from fairask_studio._audit import begin_audit, certificate_of
from fairask_studio._errors import StudyError
from fairask_studio._fitting import fit_entry
from fairask_studio.config import check_person
from fairask_studio.events import Document
from fairask_studio.snapshot import keep_snapshot

if TYPE_CHECKING:
    from fairask_studio.study import Study

#: Kinds of events after which another model is judged, or a model is judged otherwise.
_JUDGED = {
    kind.kind
    for kind in (
        happened.ModelFitted,
        happened.AuditChanged,
        happened.CertificateIssued,
        happened.AnswersReopened,
        happened.AnswersRestored,
    )
}


def refit(study: Study, force: bool, asked_by: str | None) -> Document | None:
    """See :meth:`Study.refit`."""
    if asked_by is not None:
        with study.turn() as (turn, state):
            if state.kept is not None:
                turn.append(check_person(asked_by), happened.FitAsked())
        force = True
    with study.lock:
        state = study.state()
        if state.kept is not None or not (force or state.fit_is_due()):
            return None
        if state.audit is not None:
            raise StudyError("an audit is under way and its labels must not train; end the audit first")
        learner, now = study.learner(), study.last_state
        seen = now.last
        if now.audit is not None or now.kept is not None:
            return None  # another process began to judge the model while the learner was made
    if not len(learner.labelled_indices_):
        return None
    entry = fit_entry(learner, study.rows.encoder.feature_names_out) | {"seen": seen}
    with study.store.write() as turn:
        if any(event.kind in _JUDGED for event in turn.events(seen)):
            return None  # another process fitted first, or began to judge the last model
        turn.append("fairask", happened.ModelFitted(entry))
    with study.lock:
        keep_snapshot(study.store, study.state())
    return entry


def start_audit(study: Study, labels: int, who: str) -> None:
    """See :meth:`Study.start_audit`."""
    while True:
        with study.lock:
            state = study.state()
            if state.model is None:
                raise StudyError("there is no model to audit yet; label a batch first")
            if state.audit is not None:
                raise StudyError("an audit is under way already")
            last = state.last  # before the learner reads what others have written since
            begun = begin_audit(state, study.learner(at=state.trained_to), labels)
        with study.store.write() as turn:
            news = {event.kind for event in turn.events(last)}
            if not news & {*_JUDGED, happened.RowsDrawn.kind}:
                turn.append(who, begun)
                return


def certify(study: Study, who: str) -> Document:
    """See :meth:`Study.certify`."""
    with study.lock:
        state = study.state()
        digested = None if state.audit is None else _digested_rows(study, state.audit.seen)
    with study.turn() as (turn, state):
        document = certificate_of(state, digested)
        turn.append(who, happened.CertificateIssued(document), happened.AuditChanged(0))
    return document


def _digested_rows(study: Study, seen: int) -> list[int] | None:
    """Return the rows on which a model's digest was made; None for the whole pool."""
    learner = study.learner(at=seen)
    return None if isinstance(learner.pool, Pool) else list(learner.state.log.position)
