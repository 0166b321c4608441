"""A LazyDict behaves as the dict it was written from, whatever is done to it."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import jinx

KEYS = st.sampled_from(["a", "b", "c", "image", "a.b", "", "é", "new"])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=5),
    st.binary(max_size=100),
    st.lists(st.integers(), max_size=3),
)
MISSING = object()


class LazyDictModel(RuleBasedStateMachine):
    """The same operations on both."""

    @initialize(start=st.dictionaries(KEYS, VALUES, max_size=6))
    def open(self, start: dict[str, Any]):
        self.directory = TemporaryDirectory()
        path = Path(self.directory.name) / "a.jinx"
        with jinx.Writer(path) as writer:
            writer.write(start)
        self.model = dict(start)
        self.lazy = jinx.open(path)[0]

    def teardown(self):
        if hasattr(self, "directory"):
            self.directory.cleanup()

    def same(self, act):
        """The same result, or the same kind of error."""
        results = []
        for mapping in (self.lazy, self.model):
            try:
                results.append(act(mapping))
            except KeyError as error:
                results.append(("KeyError", error.args))
        assert results[0] == results[1]

    @rule(key=KEYS)
    def get_item(self, key):
        self.same(lambda mapping: mapping[key])

    @rule(key=KEYS, value=VALUES)
    def set_item(self, key, value):
        self.same(lambda mapping: mapping.__setitem__(key, value))

    @rule(key=KEYS)
    def delete(self, key):
        self.same(lambda mapping: mapping.__delitem__(key))

    @rule(key=KEYS, default=VALUES)
    def get(self, key, default):
        self.same(lambda mapping: mapping.get(key, default))
        self.same(lambda mapping: mapping.get(key))

    @rule(key=KEYS, default=st.one_of(st.just(MISSING), VALUES))
    def pop(self, key, default):
        self.same(lambda mapping: mapping.pop(key) if default is MISSING else mapping.pop(key, default))

    @rule(key=KEYS, default=VALUES)
    def set_default(self, key, default):
        self.same(lambda mapping: mapping.setdefault(key, default))

    @rule()
    def pop_item(self):
        try:
            expected = self.model.popitem()
        except KeyError:
            with pytest.raises(KeyError):
                self.lazy.popitem()
        else:
            assert self.lazy.popitem() == expected

    @rule(other=st.dictionaries(KEYS, VALUES, max_size=3))
    def update(self, other):
        self.lazy.update(other)
        self.model.update(other)

    @rule(value=VALUES)
    def update_by_keyword(self, value):
        self.lazy.update([("a", value)], b=value)
        self.model.update([("a", value)], b=value)

    @rule(other=st.dictionaries(KEYS, VALUES, max_size=3))
    def union(self, other):
        assert dict(self.lazy | other) == self.model | other
        assert dict(other | self.lazy) == other | self.model
        self.lazy |= other
        self.model |= other

    @rule()
    def clear(self):
        self.lazy.clear()
        self.model.clear()

    @rule()
    def copies_do_not_share(self):
        copy = self.lazy.copy()
        copy["a"] = "changed"
        assert dict(copy) == {**self.model, "a": "changed"}

    @rule()
    def pickle(self):
        self.lazy = pickle.loads(pickle.dumps(self.lazy))

    @rule()
    def materialize(self):
        assert dict(self.lazy.materialize()) == self.model

    @rule()
    def spread(self):
        assert {**self.lazy} == self.model
        assert self.lazy.to_dict() == self.model
        match self.lazy:
            case {"a": value}:
                assert value == self.model["a"]
            case _:
                assert "a" not in self.model

    @invariant()
    def equal(self):
        if not hasattr(self, "lazy"):
            return
        assert len(self.lazy) == len(self.model)
        assert list(self.lazy) == list(self.lazy.keys()) == list(self.model)
        assert list(self.lazy.values()) == list(self.model.values())
        assert list(self.lazy.items()) == list(self.model.items())
        assert self.lazy == self.model
        assert bool(self.lazy) == bool(self.model)
        for key in ("a", "new", "none of these"):
            assert (key in self.lazy) == (key in self.model)
        assert isinstance(repr(self.lazy), str)


TestLazyDict = LazyDictModel.TestCase
