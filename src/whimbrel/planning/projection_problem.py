"""The decision process of one instance, listed: its states, its transitions, and one block of its minimisations.

A state is (slots, cuts); its row is ``base[i] + rank``. From state i the next slot count is ``states[j]`` with
probability ``matrix[i, j]``; slot counts without a feasible partition are left out and the rows made whole again,
because a job cannot go where nothing fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whimbrel.planning.projection_instance import ProjectionInstance
from whimbrel.planning.projection_program import Program
from whimbrel.planning.projection_reach import IntArray
from whimbrel.planning.projection_search import Target, minimise_block
from whimbrel.planning.projection_space import FloatArray, LongArray, Space, spaces_of
from whimbrel.planning.projection_split import fit_weights, split


@dataclass(frozen=True)
class Block:
    """The states of ``source`` with ranks [start, stop), each to be led to its best partition of ``target``."""

    source: int
    target: int
    start: int
    stop: int


@dataclass(frozen=True)
class Solved:
    """A block's least values and the ranks that have them, and how many pairs were evaluated for it."""

    block: Block
    values: FloatArray
    chosen: IntArray
    evaluated: int


@dataclass(frozen=True)
class Problem:
    """An instance with all its partitions. Building one lists them: count first."""

    instance: ProjectionInstance
    spaces: tuple[Space, ...]
    matrix: FloatArray
    base: LongArray
    prefix: FloatArray

    @staticmethod
    def of(instance: ProjectionInstance) -> Problem:
        """Lists the partitions of every slot count of the instance."""
        spaces = tuple(spaces_of(instance).values())
        sizes = np.array([space.size for space in spaces], np.int64)
        prefix = np.concatenate([[0.0], np.cumsum(np.asarray(instance.load.state, np.float64))])
        base = np.concatenate([[0], np.cumsum(sizes)])
        return Problem(instance, spaces, feasible_matrix(np.asarray(instance.matrix), sizes > 0), base, prefix)

    @property
    def size(self) -> int:
        """How many states there are."""
        return int(self.base[-1])

    @property
    def total_state(self) -> float:
        """All the state there is: the most that one step can cost."""
        return float(self.prefix[-1])

    @cached_property
    def transitions(self) -> tuple[tuple[int, int], ...]:
        """The (source, target) indices whose minimisations a sweep needs."""
        found = ((int(i), int(j)) for i, j in np.argwhere(self.matrix > 0))
        return tuple((i, j) for i, j in found if self.spaces[i].size)

    @property
    def pairs(self) -> int:
        """How many pairs of partitions one sweep answers for."""
        return sum(self.spaces[i].size * self.spaces[j].size for i, j in self.transitions)

    def blocks(self, most: int) -> list[Block]:
        """Every minimisation of a sweep, in blocks of at most ``most`` sources, the costliest transitions first."""
        order = sorted(self.transitions, key=lambda pair: -self.spaces[pair[1]].size)
        return [
            Block(i, j, start, min(start + most, self.spaces[i].size))
            for i, j in order
            for start in range(0, self.spaces[i].size, most)
        ]

    def costs_of(self, costs: FloatArray, state: int) -> FloatArray:
        """The part of a vector over all rows that belongs to one slot count."""
        return costs[self.base[state] : self.base[state + 1]]

    def weights_of(self, discounted: FloatArray, state: int) -> FloatArray:
        """For one slot count, the weights per interval that come nearest to these discounted costs of all rows."""
        space = self.spaces[state]
        if space.size == 0:
            return np.zeros((space.bounds.bins, max(1, space.bounds.widest)))
        return fit_weights(space, self.costs_of(discounted, state))

    def weights(self, discounted: FloatArray) -> tuple[FloatArray, ...]:
        """``weights_of`` every slot count."""
        return tuple(self.weights_of(discounted, j) for j in range(len(self.spaces)))

    def target(self, discounted: FloatArray, weights: FloatArray, state: int) -> Target:
        """What a search for the best partition of ``states[state]`` looks through."""
        space = self.spaces[state]
        parts = split(space, self.costs_of(discounted, state), weights)
        return Target(
            cut=space.cut,
            child=space.child,
            rank=space.rank,
            offset=space.offset,
            cuts=space.cuts,
            remainder=parts.remainder,
            low=parts.low,
            program=Program.of(space.bounds, parts.weights),
        )

    def solve(self, block: Block, target: Target, warm: IntArray) -> Solved:
        """The exact minimum for every source of a block; ``warm`` holds their last choices, or -1."""
        space = self.spaces[block.source]
        values = np.empty(block.stop - block.start)
        chosen = np.empty(block.stop - block.start, np.int32)
        offset = space.offset[block.start : block.stop + 1]
        evaluated = minimise_block(target, offset, space.cuts, self.prefix, warm, values, chosen)
        return Solved(block, values, chosen, int(evaluated))


def feasible_matrix(matrix: FloatArray, feasible: np.ndarray) -> FloatArray:
    """The matrix without the moves to infeasible slot counts; a row that has no other stays zero: its costs end."""
    kept = np.where(feasible[None, :], matrix, 0.0)
    sums = kept.sum(axis=1, keepdims=True)
    return np.divide(kept, sums, out=np.zeros_like(kept), where=sums > 0)
