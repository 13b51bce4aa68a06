"""An assignment with, per bin, the number of the step that brought it where it is (0: since the beginning).

The stamp tells a slot precisely what it lacks: a bin that it owns under stamp 7 and does not hold under stamp 7
must be installed from the transfers of step 7.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from whimbrel.control.seal import Step
from whimbrel.model.assignment import Assignment
from whimbrel.state.frames import digest


@dataclass(frozen=True, slots=True)
class StampedAssignment:
    """``stamp[bin]`` belongs to ``assignment.owner[bin]``."""

    assignment: Assignment
    stamp: tuple[int, ...]

    @staticmethod
    def initial(assignment: Assignment) -> StampedAssignment:
        """Every bin where it was born."""
        return StampedAssignment(assignment, (0,) * assignment.bins)

    def after(self, step: Step) -> StampedAssignment:
        """The map after a step, its bins stamped with the step's number."""
        stamps = list(self.stamp)
        for move in step.moves:
            stamps[move.bin] = step.number
        return StampedAssignment(self.assignment.apply(step.moves), tuple(stamps))

    def encode(self) -> bytes:
        """The map as JSON: a function of the content only, so its digest names it."""
        return json.dumps({"owner": self.assignment.owner, "stamp": self.stamp}, separators=(",", ":")).encode()

    @staticmethod
    def decode(data: bytes) -> StampedAssignment:
        """The map that ``encode`` wrote."""
        fields = json.loads(data)
        return StampedAssignment(Assignment(tuple(fields["owner"])), tuple(fields["stamp"]))

    @property
    def digest(self) -> str:
        """The name of this map."""
        return digest(self.encode())
