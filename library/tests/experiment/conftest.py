from tests.paper.conftest import smoke_run

__all__ = ["smoke_run"]
