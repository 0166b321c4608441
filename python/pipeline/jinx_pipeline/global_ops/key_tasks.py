"""The tasks over the keys of one operator: merges of key files, if worthwhile, and looks."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from jinx_pipeline.exchange.division import divide
from jinx_pipeline.exchange.key_file import KeyFiles
from jinx_pipeline.global_ops.key_work import LookWork, MergeKeysWork
from jinx_pipeline.operators.api.key_exchange import edges_of
from jinx_pipeline.operators.api.keyed import Keys, Partitioned
from jinx_pipeline.runlog.records import Partitions
from jinx_pipeline.runlog.work_dir import signatures_path


class KeyTasks:
    """Plans the tasks once all keys are written.

    Args:
        operator: The operator that the keys belong to.
        place: The place of the operator in the recipe.
        settled: The recorded partitions of the keys.
        parts: The parts with the keys next to them.
        other_parts: The parts of the dataset that a join adds.
    """

    def __init__(
        self, operator: Partitioned, place: int, settled: Partitions, parts: Sequence[Path], other_parts: Sequence[Path]
    ) -> None:
        self._operator = operator
        self._place = place
        self._files, self._other = key_files(parts), key_files(other_parts)
        # Temporary files are in the directory of the parts.
        self._folder = str(parts[0].parent)
        self._division = divide(
            self._files,
            self._other,
            kinds=operator.kinds,
            partitions=settled.count,
            max_keys=settled.keys_at_once,
        )

    def merge(self, *, of_other: bool) -> MergeKeysWork | None:
        """The merge of key files; None if they are read without merging."""
        division = self._division
        runs = division.other_runs if of_other else division.runs
        if not runs:
            return None
        if not of_other:
            return MergeKeysWork(self._operator, self._place, self._files, division, runs, self._edges)
        operator = self._operator if self._operator.other is None else self._operator.other[1]
        return MergeKeysWork(operator, self._place, self._other, division, runs, self._edges)

    def keys(self, merged: Sequence[Path], merged_other: Sequence[Path]) -> Keys:
        """The keys for the looks at partitions.

        Args:
            merged: The merged key files, if there were merges.
            merged_other: The merged key files of the dataset that a join adds.
        """
        if not self._division.runs:
            return Keys(self._files, self._division, self._folder, self._other)
        return Keys(KeyFiles(merged), self._division, self._folder, KeyFiles(merged_other))

    def look(self, keys: Keys) -> LookWork:
        """The tasks that look at all keys, one partition each."""
        return LookWork(self._operator, self._place, keys)

    @cached_property
    def _edges(self) -> Any:
        return edges_of(self._operator, self._files, self._division)


def key_files(parts: Sequence[Path]) -> KeyFiles:
    """The keys that tasks wrote next to their parts."""
    return KeyFiles([signatures_path(part) for part in parts])
