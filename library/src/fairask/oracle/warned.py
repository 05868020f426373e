"""What a calibrated model warns of, in words."""

from __future__ import annotations

from typing import NamedTuple


class Shortfall(NamedTuple):
    """Why labels do not suffice for a tolerance.

    Attributes
    ----------
    labels, needed : int
        Labels at hand, and about how many are needed.
    goal : str
        The violation that is wanted.
    upper : float
        Upper limit of the returned rule's violation.
    unseen : str
        Rows of which fewer than three are labelled, or nothing.
    """

    labels: int
    needed: int
    goal: str
    upper: float
    unseen: str

    def words(self) -> str:
        """Say it, and what to do.

        Examples
        --------
        >>> print(Shortfall(50, 200, "tprp violation within 0.1", 0.9, "positive rows of group 'b'").words())
        infeasible with these 50 labels: fewer than three of them are positive rows of group 'b', so the
        violation may be up to 0.90; label more rows of that group
        """
        begin = f"infeasible with these {self.labels} labels: "
        if self.unseen:
            return (
                f"{begin}fewer than three of them are {self.unseen}, so the violation may be up to "
                f"{self.upper:.2f}; label more rows of that group"
            )
        return (
            f"{begin}no useful rule has a {self.goal}; that of the returned rule is within {self.upper:.2f}. "
            f"About {self.needed} labels are needed"
        )
