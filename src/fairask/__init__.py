"""fairask: fair active learning in low-data regimes."""

from fairask.metrics import group_rates, violation

__version__ = "0.1.0"

__all__ = ["__version__", "group_rates", "violation"]
