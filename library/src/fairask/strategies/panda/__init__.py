"""PANDA: a selection policy learned by simulating active learning (Sharaf, Daume III and Ni 2022)."""

from fairask.strategies.panda._strategy import Panda, PandaNotConverged

__all__ = ["Panda", "PandaNotConverged"]
