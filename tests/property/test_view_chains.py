"""Any chain of views is what the same operations make of a list of dicts: in memory, saved, and in another process."""

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jinx

Samples = list[dict[str, Any]]
SAMPLES: Samples = [
    {
        "id": f"s{i:02}",
        "n": i * 7 % 13,
        "score": None if i % 5 == 0 else i / 4,
        "image": bytes([i]) * 100,
        "meta": {"w": i, "tags": ["a"] * (i % 3)},
    }
    for i in range(23)
]


def write_pair(directory: Path) -> str:
    with jinx.Writer(directory / "pair.jinx") as writer:
        writer.write_many(SAMPLES)
    return str(directory / "pair.jinx")


def write_directory(directory: Path) -> str:
    with jinx.Writer(directory / "shards", shard_size=1200) as writer:
        writer.write_many(SAMPLES)
    return str(directory / "shards")


def write_json_lines(directory: Path) -> str:
    jinx.convert(write_pair(directory), directory / "lines.jsonl")
    return str(directory / "lines.jsonl")


def write_mds(directory: Path) -> str:
    jinx.convert(write_pair(directory), directory / "mds", output_format="mds")
    return str(directory / "mds")


KINDS = {"pair": write_pair, "directory": write_directory, "json lines": write_json_lines, "mds": write_mds}


@pytest.fixture(scope="module", params=list(KINDS))
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> jinx.Dataset:
    """The samples in each kind of files."""
    return jinx.open(KINDS[request.param](tmp_path_factory.mktemp("kind")))


def plain(value: Any) -> Any:
    """A value that can be compared, whatever it was stored as."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def content(dataset: jinx.Dataset) -> Samples:
    return [plain(sample.to_dict()) for sample in dataset]


def exclaimed(sample):
    return sample["id"] + "!"


class Chain:
    """A dataset and the list that it must equal, taken through the same operations."""

    def __init__(self, dataset: jinx.Dataset, expected: Samples, place: Path) -> None:
        self.dataset = dataset
        self.expected = expected
        self.place = place
        self.names = itertools.count()

    def step(self, name: str, number: int) -> None:
        getattr(self, name)(number)

    def at(self, positions: list[int]) -> None:
        self.expected = [dict(self.expected[i]) for i in positions]

    def select(self, number: int) -> None:
        count = len(self.expected)
        positions = [(number + 5 * i) % count for i in range(number % (count + 1))] if count else []
        self.dataset = self.dataset.select(positions)
        self.at(positions)

    def slice(self, number: int) -> None:
        part = slice(number % 4, None, 1 + number % 2)
        self.dataset, self.expected = self.dataset[part], self.expected[part]

    def shuffle(self, number: int) -> None:
        order = np.random.Generator(np.random.PCG64(number)).permutation(len(self.expected)).tolist()
        self.dataset = self.dataset.shuffle(seed=number)
        self.at(order)

    def sort(self, number: int) -> None:
        if self.expected and all("n" in sample for sample in self.expected):
            reverse = bool(number % 2)
            self.dataset = self.dataset.sort("n", reverse=reverse)
            self.expected = sorted(self.expected, key=lambda sample: -sample["n"] if reverse else sample["n"])

    def filter(self, number: int) -> None:
        self.dataset = self.dataset.filter(lambda sample: len(sample["id"]) + number % 3 != len(sample["id"]) + 1)
        self.expected = [sample for sample in self.expected if number % 3 != 1]

    def shard(self, number: int) -> None:
        size, larger = divmod(len(self.expected), 2)
        first = number % 2 == 0
        self.dataset = self.dataset.shard(num_shards=2, index=number % 2)
        self.expected = self.expected[: size + larger] if first else self.expected[size + larger :]

    def split(self, _number: int) -> None:
        self.dataset = self.dataset.split(0.7)[0]
        self.expected = self.expected[: round(len(self.expected) * 0.7)]

    def concat(self, number: int) -> None:
        if len(self.expected) < 100:
            part = self.dataset[: number % 7]
            self.dataset, self.expected = self.dataset + part, self.expected + self.expected[: number % 7]

    def drop(self, number: int) -> None:
        name = ["score", "meta", "own", "f", "emb"][number % 5]
        if name in self.dataset.column_names:
            self.dataset = self.dataset.drop_columns(name)
            self.expected = [{k: v for k, v in sample.items() if k != name} for sample in self.expected]

    def with_columns(self, number: int) -> None:
        count = len(self.expected)
        own: Any = [None if i % 4 == 0 else {"x": [i, number]} for i in range(count)]
        numbers = (np.arange(count) * 0.5 + number).astype([np.float16, np.float32, np.float64][number % 3])
        which = number % 6
        if which == 0:
            self.dataset = self.dataset.with_columns({"own": own})
            added = [{"own": value} for value in own]
        elif which == 1:
            self.dataset = self.dataset.with_columns({"score": numbers})
            added = [{"score": value} for value in numbers.tolist()]
        elif which == 2:
            vectors = np.stack([numbers, numbers + 1], axis=1).astype(np.float32)
            self.dataset = self.dataset.with_columns({"emb": vectors})
            added = [{"emb": value} for value in vectors.tolist()]
        elif which == 3:
            times = np.datetime64("2024-02-29T23:59:58", "ms") + np.arange(count) * np.timedelta64(number, "s")
            missing = np.arange(count) % 3 == 1
            self.dataset = self.dataset.with_columns({"own": np.where(missing, np.datetime64("NaT"), times)})
            added = [{"own": None if missing[i] else str(time)} for i, time in enumerate(times)]
        elif which == 4:
            labels = [None if i % 5 == 0 else "ab\u00e9"[: (i + number) % 4] for i in range(count)]
            self.dataset = self.dataset.with_columns({"own": pa.array(labels, pa.string()).dictionary_encode()})
            added = [{"own": label} for label in labels]
        else:
            self.dataset = self.dataset.with_columns({"f": exclaimed})
            added = [{"f": exclaimed(sample)} for sample in self.expected]
        names = set().union(*added) if added else set()
        self.expected = [
            {k: v for k, v in sample.items() if k not in names} | new
            for sample, new in zip(self.expected, added, strict=True)
        ]

    def save(self, _number: int) -> None:
        path = self.place / f"view{next(self.names)}.jinx"
        self.dataset.save(path)
        self.dataset = jinx.open(path)

    def copy(self, _number: int) -> None:
        """The stored form of everything, written and read again."""
        path = self.place / f"copy{next(self.names)}.jinx"
        with jinx.Writer(path) as writer:
            writer.copy(self.dataset)
        assert content(jinx.open(path)) == self.expected
        assert jinx.verify(path) == []

    def pickle(self, _number: int) -> None:
        self.dataset = pickle.loads(pickle.dumps(self.dataset))


STEPS = [name for name in vars(Chain) if not name.startswith("_") and name not in {"step", "at"}]
chains = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 50)), min_size=1, max_size=8)


@given(chain=chains)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_a_chain_of_views_equals_a_list(
    dataset: jinx.Dataset, tmp_path_factory: pytest.TempPathFactory, chain: list[tuple[str, int]]
) -> None:
    state = Chain(dataset, content(dataset), tmp_path_factory.mktemp("chain"))
    for name, number in chain:
        state.step(name, number)
        assert content(state.dataset) == state.expected, name
        for column in ("n", "score"):
            if state.expected and all(column in sample for sample in state.expected):
                values = state.dataset[column]
                found = [None if value is np.ma.masked else plain(value) for value in values]
                assert found == [sample[column] for sample in state.expected], (name, column)
