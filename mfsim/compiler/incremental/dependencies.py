"""What each step of a compilation reads and writes, so that a step whose inputs are as before need not run again.

Steps meet in the mappings and sets of a `Lowering` and nowhere else. A `Journal` stands in front of these: it
notes what a step asks for, found or not, and what it puts in. As all steps run in one order and every key is
noted, a step finds what it found last time unless an earlier step has put in something else under a key that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, MutableSet, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mfsim.compiler.lower.grid import Grid
from mfsim.compiler.lower.lowering import Lowering
from mfsim.ir.program import Node, Tensor

Key = tuple[str, Hashable]
"""The name of a mapping or set, and a key in it."""

PLACES = ("values", "done", "input_quants", "constants", "clips", "flips")
"""The mappings and sets of a `Lowering`."""

BUILT = ("tensors", "names")
"""Those of its builder."""

K = TypeVar("K", bound=Hashable)

V = TypeVar("V")


class _Missing:
    """Stands for a key that is not there."""


MISSING = _Missing()


@dataclass(frozen=True)
class Record:
    """What one step did.

    Attributes
    ----------
    reads : all keys that it asked for.
    written : what it put in, by the name of the mapping or set.
    inputs, nodes, notes : what it added to the program, and said.
    result : what it returned.
    """

    reads: frozenset[Key]
    written: Mapping[str, dict[Any, Any]]
    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    notes: tuple[str, ...]
    result: Any


def joined(records: Sequence[Record]) -> Record:
    """Return what steps in a row did, as if they were one, but without the result.

    Parameters
    ----------
    records : sequence of Record
        Records of steps, in order.

    Returns
    -------
    Record
        One record, with the later of two entries.
    """
    written: dict[str, dict[Any, Any]] = {}
    for record in records:
        for name, entries in record.written.items():
            written.setdefault(name, {}).update(entries)
    inputs, nodes, notes = (
        tuple(thing for record in records for thing in getattr(record, name)) for name in ("inputs", "nodes", "notes")
    )
    return Record(frozenset(), written, inputs, nodes, notes, None)


class Dependencies:
    """Notes what the steps of one lowering read and write; its mappings and sets are replaced by watched ones."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self.contents: dict[str, dict[Any, Any]] = {}
        self.reads: set[Key] = set()
        self.before: dict[Key, Any] = {}
        for owner, names in ((lowering, PLACES), (lowering.builder, BUILT)):
            for name in names:
                given = getattr(owner, name)
                content = self.contents[name] = dict(given) if isinstance(given, dict) else dict.fromkeys(given, True)
                watched: Any = _Mapping(self, name, content)
                setattr(owner, name, watched if isinstance(given, dict) else _Set(watched))

    def run(self, step: Callable[[Lowering], Any], old: Record | None) -> tuple[Record, list[Key]]:
        """Run `step` and return what it did, and the keys under which it has put in something else than `old` says.

        What is as it was in `old` is the same object.

        Parameters
        ----------
        step : callable of Lowering
            Step to run.
        old : Record or None
            What the step did before; None if it is new.

        Returns
        -------
        Record
            What it did now.
        list of Key
            (name of a mapping, key) of each changed entry.
        """
        self.reads, self.before = set(), {}
        starts = [len(things) for things in self._lists()]
        result = step(self._lowering)
        written: dict[str, dict[Any, Any]] = {}
        changed: list[Key] = []
        for (name, key), had in self.before.items():
            value = self.contents[name].get(key, MISSING)
            if value is MISSING:
                assert had is MISSING, "a rule takes away only what it has put in"
                continue
            was = MISSING if old is None else old.written.get(name, {}).get(key, MISSING)
            if same(value, was):
                value = self.contents[name][key] = was
            else:
                changed.append((name, key))
            written.setdefault(name, {})[key] = value
        for name, entries in () if old is None else old.written.items():
            changed += [(name, key) for key in entries.keys() - written.get(name, {}).keys()]
        made = self._lowering.builder.nodes
        for k, node in enumerate(() if old is None else old.nodes, starts[1]):
            if k < len(made) and same(made[k], node):
                made[k] = node
        inputs, nodes, notes = (tuple(things[start:]) for things, start in zip(self._lists(), starts, strict=True))
        return Record(frozenset(self.reads), written, inputs, nodes, notes, result), changed

    def repeat(self, record: Record) -> None:
        """Do what a step did, or several, without running them.

        Parameters
        ----------
        record : Record
            What the step did.
        """
        for name, entries in record.written.items():
            self.contents[name].update(entries)
        for things, added in zip(self._lists(), (record.inputs, record.nodes, record.notes), strict=True):
            if added:
                things.extend(added)

    def leave(self) -> None:
        """Give the lowering its own mappings and sets back, with what is in them now."""
        for owner, names in ((self._lowering, PLACES), (self._lowering.builder, BUILT)):
            for name in names:
                mapping = not isinstance(getattr(owner, name), MutableSet)
                setattr(owner, name, self.contents[name] if mapping else set(self.contents[name]))

    def _lists(self) -> tuple[list[Any], ...]:
        return self._lowering.builder.inputs, self._lowering.builder.nodes, self._lowering.notes


class _Mapping(MutableMapping[K, V]):
    """A mapping that tells a journal what is asked of it."""

    def __init__(self, journal: Dependencies, name: str, content: dict[K, V]) -> None:
        self._journal, self._name, self._content = journal, name, content

    def __getitem__(self, key: K) -> V:
        self._journal.reads.add((self._name, key))
        return self._content[key]

    def __contains__(self, key: object) -> bool:
        self._journal.reads.add((self._name, key))
        return key in self._content

    def __setitem__(self, key: K, value: V) -> None:
        self._journal.before.setdefault((self._name, key), self._content.get(key, MISSING))
        self._content[key] = value

    def __delitem__(self, key: K) -> None:
        self._journal.before.setdefault((self._name, key), self._content.get(key, MISSING))
        del self._content[key]

    def __iter__(self) -> Iterator[K]:
        self._journal.reads.update((self._name, key) for key in self._content)
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


class _Set(MutableSet[K]):
    """A set that tells a journal what is asked of it."""

    def __init__(self, content: _Mapping[K, bool]) -> None:
        self._content = content

    def __contains__(self, key: object) -> bool:
        return key in self._content

    def __iter__(self) -> Iterator[K]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def add(self, value: K) -> None:
        self._content[value] = True

    def discard(self, value: K) -> None:
        self._content.pop(value, None)


def same(one: Any, other: Any) -> bool:
    """Whether two values of a lowering are equal in all that a rule can see of them.

    Parameters
    ----------
    one, other : object
        Values of a lowering; arrays are equal in type, shape and bits.

    Returns
    -------
    bool
        True if they are.
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        return np.array_equal(one, other) and (one.dtype.kind in "biu" or one.tobytes() == other.tobytes())
    if isinstance(one, (Grid, Tensor, Node)):
        return all(same(value, getattr(other, name)) for name, value in vars(one).items())
    return bool(one == other)
