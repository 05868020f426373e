"""Whether the studio lives and can serve: for service managers and proxies, without signing in."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from fairask_studio.pages._labelling import study_of
from fairask_studio.pages._trainer_process import TrainerProcess

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Say that the server answers; no database is asked."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz(request: Request) -> JSONResponse:
    """Say whether the database answers and the trainer works; 503 if one does not."""
    said = study_of(request).store.training()
    trainer = request.app.state.trainer
    alive = not isinstance(trainer, TrainerProcess) or trainer.alive
    ready = alive and said.error is None
    words = "ok" if alive else "stopped"
    return JSONResponse(
        {"database": "ok", "trainer": "failed" if said.error else words},
        200 if ready else 503,
        None if ready else {"Retry-After": "5"},
    )
