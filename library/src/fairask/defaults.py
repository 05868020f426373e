"""What is used where nothing else is said, for the library and the command line; imports nothing."""

from __future__ import annotations

#: Labels that a study or a simulation spends.
BUDGET = 250
#: Labels per batch.
BATCH = 25
