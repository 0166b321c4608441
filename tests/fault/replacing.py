"""A model of what open datasets, saved views, pickles, plans and states of loaders show while files are replaced.

`World.step` changes files or works with what is open. What an operation gives must be exactly the rows that were there
when its dataset was opened, or an error that the change explains; `World` knows both.
"""

import json
import pickle
import random
import shutil
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import jinx
from fault.places import Place
from fault.shown import (
    Ref,
    Shown,
    ViewFile,
    code_of,
    encode,
    first_tokens,
    loud,
    plain,
    rows_of,
    rows_of_pickle,
)
from fault.versions import KINDS, Row, Templates

try:
    from jinx.torch import Loader, PackedDataLoader
except ImportError:
    HAS_TORCH = False
else:
    HAS_TORCH = True

MOST_ROWS = 60
MOST_SHOWN = 8
PACK_TOKENS = 150
EPOCH_SEED = 5
# Of 100 steps, those that change files.
CHANGES = (3, 10, 30)


class WrongError(AssertionError):
    """Other rows, or an error that nothing explains."""


@dataclass
class World:
    """Places, what was opened of them, and what happened.

    Attributes:
        root: An empty directory.
        templates: Datasets to put into places.
        seed: Decides everything.
        process: Another process.
    """

    root: Path
    templates: Templates
    seed: int
    process: Executor
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.changes = self.rng.choice(CHANGES)
        may_shrink = self.rng.random() < 0.5
        self.options: dict[str, Any] = {"io": "pread" if may_shrink else "auto"}
        self.places: list[Place] = []
        for number, name in enumerate(self.rng.sample(sorted(KINDS), 3)):
            (self.root / str(number)).mkdir()
            self.places.append(Place(name, self.root / str(number), self.templates, self.rng, may_shrink))
        self.shown: list[Shown] = []
        self.pickles: list[tuple[bytes, Shown]] = []
        self.views: list[ViewFile] = []
        self.states: list[tuple[Callable[..., None], Shown, Any]] = []
        (self.root / "deep" / "views").mkdir(parents=True)
        (self.root / "linked").symlink_to(self.root / "deep" / "views")
        self.names = 0
        self.trace: list[str] = []

    def step(self) -> None:
        """Change something, or work with something that is open."""
        try:
            if self.rng.randrange(100) < self.changes:
                place = self.rng.choice(self.places)
                self.note(f"{place.change()} {place.name}")
            elif not self.shown:
                self.open()
            else:
                [name] = self.rng.choices(list(OPERATIONS), list(OPERATIONS.values()))
                self.note(name)
                getattr(self, name)()
        except Exception as error:  # noqa: BLE001 - what led to it is told, too
            last = "\n".join([*self.trace[-25:], "".join(traceback.format_exception(error))])
            raise WrongError(f"seed {self.seed}, step {len(self.trace)}:\n{last}") from None
        del self.shown[:-MOST_SHOWN], self.pickles[:-MOST_SHOWN], self.states[:-MOST_SHOWN], self.views[:-MOST_SHOWN]

    def note(self, text: str) -> None:
        self.trace.append(text)

    def close(self) -> None:
        """Close and remove everything."""
        for subject in self.shown:
            subject.dataset.close()
        self.shown.clear()
        shutil.rmtree(self.root)

    # What may happen.

    def attempt(
        self, work: Callable[[], Any], *subjects: Shown, reopens: bool, saves: bool = False, accepts: Any = ()
    ) -> Any:
        """What `work` returns; None after an error that the changes explain."""
        try:
            found = work()
        except (jinx.JinxError, OSError) as error:
            self.note(f"  {type(error).__name__}: {error}")
            if not isinstance(error, accepts) and not self.explains(error, subjects, reopens=reopens, saves=saves):
                raise
            self.counts[type(error).__name__] += 1
            return None
        self.counts["right"] += 1
        return found

    def explains(self, error: Exception, subjects: tuple[Shown, ...], *, reopens: bool, saves: bool) -> bool:
        """Whether the files are in a state that this error is about."""
        if "\n" in str(error) or "Traceback" in str(error):
            return False
        refs = [ref for subject in subjects for ref in subject.bases]
        files = [(view, content) for subject in subjects for view, content in subject.views]
        is_damaged = any(ref.files.is_damaged or ref.place.was_foreign for ref in refs)
        is_damaged |= any(files.is_damaged for ref in refs for files in ref.place.reachable)
        is_other = any(self.is_other(ref, reopens=reopens, saves=saves) for ref in refs)
        is_other |= reopens and any(view.content is not content for view, content in files)
        if isinstance(error, jinx.MismatchError):
            return is_other or is_damaged
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            # Named as the operating system names them; only MDS looks for files of an open dataset.
            looks = reopens or saves or any(ref.place.kind.is_mds or ref.is_unsure for ref in refs)
            # Where a sample is told, the file is in the text alone.
            named = error.filename or str(error).partition(": ")[0]
            return looks and str(self.root) in named and not Path(named).exists()
        if isinstance(error, jinx.JinxError):
            return is_damaged
        return False

    def is_other(self, ref: Ref, *, reopens: bool, saves: bool) -> bool:
        """Whether an operation may notice that the files of a sample are not there any more."""
        now, kind = ref.place.now, ref.place.kind
        if ref.is_unsure:
            return True
        # MDS opens its shards when they are used, and a view of files without ids is saved over what lies there.
        if kind.is_mds or (saves and not kind.has_ids):
            is_moved = now is not ref.files or now.time != ref.time
            return is_moved or (reopens and not ref.is_same(now))
        return reopens and (
            now is None or not ref.is_same(now) or (not kind.has_ids and now.version is not ref.version)
        )

    def compare(self, found: list[Row], subject: Shown, *, reopens: bool) -> list[Ref]:
        """Check rows; the refs, of what was found where a change cannot be detected."""
        if len(found) != len(subject.refs):
            raise WrongError(f"{len(found)} rows instead of {len(subject.refs)}")
        seen: list[Ref] = []
        for i, (row, ref) in enumerate(zip(found, subject.refs, strict=True)):
            if row == ref.row():
                seen.append(ref)
                continue
            versions = ref.versions(reopens=reopens)
            # The columns of functions may be computed from what was open before.
            others = [version for version in versions if any(ref.row(version, given) == row for given in versions)]
            if not others:
                raise WrongError(f"row {i} is {row}, not {ref.row()} of {ref.place.name}")
            self.counts[f"undetected, {ref.place.name}"] += 1
            seen.append(ref._replace(version=others[0]))
        return seen

    def anchored(self, refs: list[Ref]) -> list[Ref]:
        """Samples of files that were opened again."""
        return [ref.anchored() for ref in refs]

    def is_certain(self, subject: Shown) -> bool:
        """Whether it can show only one thing."""
        return all(
            ref.row(version) == ref.row() for ref in subject.refs for version in ref.versions(reopens=False)
        ) and not any(ref.files.is_damaged for ref in subject.refs)

    def one(self) -> Shown:
        return self.rng.choice(self.shown)

    def keep(self, subject: Shown) -> None:
        if len(subject.refs) <= MOST_ROWS:
            self.shown.append(subject)

    def new_path(self, folder: str = "", suffix: str = ".jinx") -> Path:
        self.names += 1
        return self.root / folder / f"new-{self.names}{suffix}"

    # Opening.

    def open(self) -> None:
        place = self.rng.choice(self.places)
        self.note(f"open {place.name}")
        if not place.is_right:
            self.open_something(place)
            return
        options = {**self.options}
        if place.kind.is_compressed:
            options["cache"] = self.rng.choice([None, "memory", self.root / "cache"])
        dataset = jinx.open(place.path, **options)
        files = place.now
        refs = [Ref(place, files, files.version, files.time, i) for i in range(len(files.version.rows))]
        opened = Shown(refs, refs[:1], dataset)
        if self.rng.random() < 0.5:
            self.compare(rows_of(dataset), opened, reopens=False)
        elif len(dataset) != len(refs):
            raise WrongError(f"{len(dataset)} samples instead of {len(refs)}")
        self.keep(opened)

    def open_something(self, place: Place) -> None:
        """Of what is damaged, anything but a crash."""
        try:
            rows_of(jinx.open(place.path, **self.options))
        except (jinx.JinxError, FileNotFoundError) as error:
            self.note(f"  {type(error).__name__}: {error}")
        except ValueError as error:
            if not place.is_foreign:
                raise
            self.note(f"  {type(error).__name__}: {error}")

    def open_view(self) -> None:
        if not self.views:
            return
        view = self.rng.choice(self.views)
        content = view.content
        if content is None:
            return
        subject = Shown(content.refs, content.bases, None, ((view, content),))

        def work() -> tuple[Any, list[Row]]:
            dataset = jinx.open(view.path, **self.options)
            return dataset, rows_of(dataset)

        found = self.attempt(work, subject, reopens=True)
        if found is not None:
            refs = self.anchored(self.compare(found[1], subject, reopens=True))
            self.keep(Shown(refs, self.anchored(subject.bases), found[0], subject.views))

    def change_view(self) -> None:
        """Another view, or nothing, under the name of one."""
        if not self.views:
            return
        view, other = self.rng.choice(self.views), self.rng.choice(self.views)
        if view.content is None or other.content is None or view is other:
            return
        sidecars = [one.path.with_suffix(".binx") for one in (other, view)]
        if self.rng.random() < 0.3:
            for path in (view.path, sidecars[1]):
                path.unlink(missing_ok=True)
            view.content = None
            return
        # Both lie in directories with the same parent, so that paths to bases hold.
        if view.path.parent == other.path.parent:
            sidecars[1].unlink(missing_ok=True)
            if sidecars[0].exists():
                sidecars[0].rename(sidecars[1])
            other.path.rename(view.path)
            view.content, other.content = other.content, None

    # Reading what is open.

    def read(self, subject: Shown, work: Callable[[], Any]) -> list[Row] | None:
        found = self.attempt(lambda: rows_of(work()), subject, reopens=False)
        if found is not None:
            self.compare(found, subject, reopens=False)
        return found

    def some(self, subject: Shown) -> tuple[list[int], Shown]:
        """Positions, and what is there."""
        count = len(subject.refs)
        chosen = [self.rng.randrange(count) for _ in range(self.rng.randrange(5))] if count else []
        return chosen, subject.but(subject.dataset, [subject.refs[i] for i in chosen])

    def iterate(self) -> None:
        subject = self.one()
        self.read(subject, lambda: iter(subject.dataset))

    def index(self) -> None:
        subject = self.one()
        chosen, part = self.some(subject)
        self.read(part, lambda: [subject.dataset[i] for i in chosen])

    def take(self) -> None:
        subject = self.one()
        chosen, part = self.some(subject)
        self.read(part, lambda: subject.dataset.take(chosen))

    def batches(self) -> None:
        subject = self.one()
        self.read(subject, lambda: [sample for batch in subject.dataset.iter_batches(4) for sample in batch])

    def column(self) -> None:
        subject = self.one()
        name = self.rng.choice(["n", "id", "num_tokens"])
        if not all(name in ref.row() for ref in subject.refs):
            return
        found = self.attempt(lambda: list(subject.dataset[name]), subject, reopens=False)
        if found is not None and subject.refs:
            values = [{name: plain(value)} for value in found]
            refs = [ref.only(name) for ref in subject.refs]
            self.compare(values, subject.but(None, refs), reopens=False)

    def lengths(self) -> None:
        subject = self.one()
        if subject.refs and all("text" in ref.row() for ref in subject.refs):
            found = self.attempt(lambda: subject.dataset.lengths("text").tolist(), subject, reopens=False)
            expected = [len(ref.row()["text"]) for ref in subject.refs]
            if found is not None and self.is_certain(subject) and found != expected:
                raise WrongError(f"lengths {found} instead of {expected}")

    def look(self) -> None:
        """Facts, which are those of the files that are open."""
        subject = self.one()
        info = self.attempt(lambda: (repr(subject.dataset), subject.dataset.info())[1], subject, reopens=False)
        if info is not None and info.samples != len(subject.refs):
            raise WrongError(f"info of {info.samples} samples")

    # Views in memory.

    def derive(self, subject: Shown, work: Callable[[], Any], choose: Callable[[], list[int]]) -> None:
        """A view of some of the samples."""
        if not self.is_certain(subject):
            return
        found = self.attempt(work, subject, reopens=False)
        if found is not None:
            self.keep(subject.but(found, [subject.refs[i] for i in choose()]))

    def select(self) -> None:
        subject = self.one()
        chosen, _ = self.some(subject)
        self.derive(subject, lambda: subject.dataset.select(chosen), lambda: chosen)

    def slice(self) -> None:
        subject, part = self.one(), slice(self.rng.randrange(3), None, self.rng.choice([1, 2, -1]))
        self.derive(subject, lambda: subject.dataset[part], lambda: list(range(len(subject.refs)))[part])

    def filter(self) -> None:
        subject, bound = self.one(), self.rng.randrange(10, 100)
        if not all("n" in ref.row() for ref in subject.refs):
            return
        condition: Any = f"n > {bound}" if self.rng.random() < 0.7 else lambda sample: sample["n"] > bound
        chosen = [i for i, ref in enumerate(subject.refs) if ref.row()["n"] > bound]
        if subject.refs:
            self.derive(subject, lambda: subject.dataset.filter(condition), lambda: chosen)

    def sort(self) -> None:
        subject = self.one()
        if subject.refs and all("n" in ref.row() for ref in subject.refs):
            order = sorted(range(len(subject.refs)), key=lambda i: subject.refs[i].row()["n"])
            self.derive(subject, lambda: subject.dataset.sort("n"), lambda: order)

    def shuffle(self) -> None:
        subject, seed = self.one(), self.rng.randrange(9)
        order = np.random.Generator(np.random.PCG64(seed)).permutation(len(subject.refs)).tolist()
        self.derive(subject, lambda: subject.dataset.shuffle(seed), lambda: order)

    def hide(self) -> None:
        subject = self.one()
        if not subject.refs or not all("text" in ref.row() for ref in subject.refs):
            return
        found = self.attempt(lambda: subject.dataset.drop_columns("text"), subject, reopens=False)
        if found is not None:
            refs = [
                ref._replace(hidden=ref.hidden | {"text"}, own=tuple(pair for pair in ref.own if pair[0] != "text"))
                for ref in subject.refs
            ]
            self.keep(subject.but(found, refs))

    def with_columns(self) -> None:
        subject, number = self.one(), self.rng.randrange(1000)
        if not subject.refs or not all("id" in ref.row() for ref in subject.refs):
            return
        name, values = self.rng.choice(
            [("own", [number + i for i in range(len(subject.refs))]), ("loud", [loud] * len(subject.refs))]
        )
        given = loud if name == "loud" else values
        found = self.attempt(lambda: subject.dataset.with_columns({name: given}), subject, reopens=False)
        if found is not None:
            refs = [
                ref._replace(own=(*(pair for pair in ref.own if pair[0] != name), (name, value)))
                for ref, value in zip(subject.refs, values, strict=True)
            ]
            self.keep(subject.but(found, refs))

    # What opens files again.

    def again(self, subject: Shown, work: Callable[[], Any], **how: Any) -> Shown | None:
        """A dataset that was made of files which were opened again."""

        def both() -> tuple[Any, list[Row]]:
            dataset = work()
            return dataset, rows_of(dataset)

        found = self.attempt(both, subject, reopens=True, **how)
        if found is None:
            return None
        refs = self.anchored(self.compare(found[1], subject, reopens=True))
        return Shown(refs, self.anchored(subject.bases), found[0], subject.views)

    def pickle(self) -> None:
        subject = self.one()
        text = self.attempt(lambda: pickle.dumps(subject.dataset), subject, reopens=False)
        if text is not None:
            self.pickles.append((text, subject))

    def unpickle(self) -> None:
        if self.pickles:
            text, subject = self.rng.choice(self.pickles)
            opened = self.again(subject, lambda: pickle.loads(text))
            if opened is not None:
                self.keep(opened)

    def unpickle_elsewhere(self) -> None:
        if self.pickles:
            text, subject = self.rng.choice(self.pickles)
            found = self.attempt(lambda: self.process.submit(rows_of_pickle, text).result(), subject, reopens=True)
            if found is not None:
                self.compare(found, subject, reopens=True)

    def concat(self) -> None:
        one, other = self.one(), self.one()
        if not (self.is_certain(one) and self.is_certain(other)):
            return
        both = Shown(one.refs + other.refs, list(dict.fromkeys(one.bases + other.bases)), None, one.views + other.views)
        found = self.attempt(lambda: (dataset := one.dataset + other.dataset, rows_of(dataset)), both, reopens=True)
        if found is not None:
            refs = self.compare(found[1], both, reopens=True)
            is_new = found[0]._definition is None  # else it is composed of what is open
            bases = self.anchored(both.bases) if is_new else both.bases
            self.keep(Shown(self.anchored(refs) if is_new else refs, bases, found[0], both.views))

    def write(self) -> None:
        """The samples as a dataset or a view of its own."""
        subject, out = self.one(), self.new_path(suffix=self.rng.choice([".jinx", "", ".jsonl"]))
        name = self.rng.choice(["select", "concat", "convert"])
        if not subject.refs or (out.suffix == ".jsonl" and name != "convert"):
            return
        is_view = name != "convert" and out.suffix == ".jinx" and self.rng.random() < 0.5
        finished: list[Path] = []
        source = [subject.dataset, subject.dataset[:0]] if name == "concat" else subject.dataset

        def written() -> list[Row]:
            getattr(jinx, name)(source, out, **({"view": True} if is_view else {}))
            finished.append(out)
            return rows_of(jinx.open(out, **self.options))

        found = self.attempt(written, subject, reopens=True, saves=is_view)
        if found is not None:
            self.compare(found, subject, reopens=True)
        elif out.exists() and not finished:
            raise WrongError(f"{out.name} is there after an error")

    def order(self) -> None:
        """The samples on disk in another order, read from the files that are open."""
        subject, out = self.one(), self.new_path()
        if not subject.refs or not self.is_certain(subject) or not all("n" in ref.row() for ref in subject.refs):
            return
        order = sorted(range(len(subject.refs)), key=lambda i: subject.refs[i].row()["n"])
        if self.attempt(lambda: jinx.sort(subject.dataset, out, by="n"), subject, reopens=False) is not None:
            ordered = subject.but(None, [subject.refs[i] for i in order])
            self.compare(rows_of(jinx.open(out)), ordered, reopens=False)

    def dedup(self) -> None:
        """Two samples that are the same become one."""
        subject, out = self.one(), self.new_path()
        if not subject.refs or not self.is_certain(subject) or not all("id" in ref.row() for ref in subject.refs):
            return
        first = {ref.row()["id"]: i for i, ref in reversed(list(enumerate(subject.refs)))}
        kept = [subject.refs[i] for i in sorted(first.values())]

        def written() -> list[Row]:
            jinx.dedup(subject.dataset, out, by="id")
            return rows_of(jinx.open(out))

        found = self.attempt(written, subject, reopens=True)
        if found is not None and all(ref.versions(reopens=True) == {ref.version} for ref in subject.refs):
            self.compare(found, subject.but(None, kept), reopens=True)

    def check_view(self) -> None:
        """`verify` finds nothing where nothing has changed, and more than opening does."""
        if not self.views:
            return
        view = self.rng.choice(self.views)
        if view.content is None:
            return
        problems = jinx.verify(view.path)
        is_right = all(
            ref.place.is_right and ref.place.now is ref.files and ref.place.now.version is ref.version
            for ref in view.content.bases
        )
        if is_right and problems and all(ref.place.now.time == ref.time for ref in view.content.bases):
            raise WrongError(f"{problems} although nothing has changed")
        is_other = any(
            ref.place.name == "JSON lines"
            and not any(files.version.holds(ref.version) for files in ref.place.reachable)
            for ref in view.content.bases
        )
        if is_other and not problems:
            raise WrongError("verify finds other JSON lines right")

    def rebase(self) -> None:
        """The places of the bases are written into a view again."""
        if not self.views:
            return
        view = self.rng.choice(self.views)
        if view.content is None:
            return
        bases = {str(ref.place.path): str(ref.place.path) for ref in view.content.bases}
        subject = Shown(view.content.refs, view.content.bases)

        def work() -> bool:
            # Of directories without a manifest, or that have another one now, the bases are single files.
            with suppress(KeyError):
                jinx.rebase(view.path, bases)
            return True

        self.attempt(work, subject, reopens=True)

    def save_view(self) -> None:
        subject = self.one()
        if not subject.refs or not self.is_certain(subject):
            return
        path = self.new_path(self.rng.choice(["deep/views", "linked"]))
        if self.attempt(lambda: subject.dataset.save(path), subject, reopens=True, saves=True) is None:
            if path.exists():
                raise WrongError(f"{path.name} is there after an error")
            return
        self.views.append(ViewFile(path, subject.saved()))

    # Training.

    def begin_loop(self) -> None:
        """Some batches, and the state after them."""
        subject = self.one()
        if not HAS_TORCH or len(subject.refs) < 4 or not self.is_certain(subject):
            return
        if not all({"id", "num_tokens"} <= ref.row().keys() for ref in subject.refs):
            return
        getattr(self, self.rng.choice(["begin_samples", "begin_packs"]))(subject)

    def loader(self, dataset: Any) -> Any:
        return Loader(dataset, 2, shuffle=True, seed=EPOCH_SEED, num_workers=self.rng.choice([0, 2]), collate_fn=list)

    def begin_samples(self, subject: Shown) -> None:
        order = np.random.Generator(np.random.PCG64([EPOCH_SEED, 0])).permutation(len(subject.refs)).tolist()
        done = self.rng.randrange(1, len(order) // 2)
        loader = self.loader(subject.dataset)
        ordered = subject.but(None, [subject.refs[i] for i in order[: 2 * done]])

        def work() -> list[Row]:
            batches = iter(loader)
            found = [row for _ in range(done) for row in rows_of(next(batches))]
            state = json.dumps(loader.state_dict())
            self.states.append((self.resume_samples, subject, (state, order[2 * done :])))
            return found

        found = self.attempt(work, subject, reopens=False)
        if found is not None:
            self.compare(found, ordered, reopens=False)

    def begin_packs(self, subject: Shown) -> None:
        try:
            plan = jinx.pack(subject.dataset, PACK_TOKENS, seed=EPOCH_SEED)
        except jinx.InvalidError as error:
            if "not in the index" not in str(error):
                raise
            return
        except (jinx.MismatchError, OSError) as error:
            if not self.explains(error, (subject,), reopens=False, saves=False):
                raise
            return
        if self.rng.random() < 0.5:
            path = self.new_path()
            plan.save(path)
            plan = jinx.PackPlan.load(path)
        self.states.append((self.resume_packs, subject, (plan, None)))

    def resume(self) -> None:
        """The rest of a loop, over the dataset, a copy of it, or another one."""
        if not self.states:
            return
        resume, subject, state = self.rng.choice(self.states)
        other = self.rng.choice([subject, self.one()])
        if other is not subject and other.dataset is not None and self.rng.random() < 0.5:
            for text, pickled in self.pickles:
                if pickled is subject:
                    opened = self.again(subject, lambda text=text: pickle.loads(text))
                    other = subject if opened is None else opened
        if self.is_certain(subject):
            resume(subject, other, state)

    def resume_samples(self, subject: Shown, other: Shown, state: tuple[str, list[int]]) -> None:
        text, order = state

        def work() -> list[Row]:
            loader = self.loader(other.dataset)
            loader.load_state_dict(json.loads(text))
            return [row for batch in loader for row in rows_of(batch)]

        refusals = jinx.MismatchError if other is not subject else ()
        found = self.attempt(work, subject, other, reopens=False, accepts=refusals)
        if found is not None:
            self.compare_loops(list(map(known, found)), [known(subject.refs[i].row()) for i in order], subject, other)

    def resume_packs(self, subject: Shown, other: Shown, state: tuple[jinx.PackPlan, str | None]) -> None:
        plan, saved = state
        codes = [code_of(ref.row()) for ref in subject.refs]
        refusals = jinx.MismatchError if other is not subject else ()

        def work() -> tuple[list[list[int]], list[list[int]], Any]:
            loader = PackedDataLoader(
                other.dataset, plan, encode=encode, num_workers=0, collate_fn=first_tokens, balance=None
            )
            if saved is not None:
                loader.load_state_dict(json.loads(saved))
            start = 0 if saved is None else json.loads(saved)["packs_consumed"]
            expected = [[codes[i] for i in plan[pack].tolist()] for pack in range(start, len(plan))]
            batches, found = iter(loader), []
            stop = self.rng.randrange(len(plan) + 1)
            for batch in batches:
                found += batch
                if len(found) >= stop:
                    break
            return found, expected[: len(found)], json.dumps(loader.state_dict())

        result = self.attempt(work, subject, other, reopens=False, accepts=refusals)
        if result is not None:
            found, expected, after = result
            self.compare_loops(found, expected, subject, other)
            if other is subject and json.loads(after)["epoch"] == plan.epoch:
                self.states.append((self.resume_packs, subject, (plan, after)))

    def compare_loops(self, found: Any, expected: Any, subject: Shown, other: Shown) -> None:
        """Check that a loop goes on as it began, except over MDS whose index has the same sizes and time."""
        if found == expected:
            return
        pairs = list(zip(subject.refs, other.refs, strict=True))
        if not any(one.place.kind.is_mds and one.is_same(two.files) for one, two in pairs):
            raise WrongError(f"the loop went on with {found} instead of {expected}")
        self.counts["undetected, MDS"] += 1


def known(row: Row) -> Row:
    """What tells a sample: the identity of a dataset is that of its files, whatever columns a view adds or hides."""
    return {name: row.get(name) for name in ("id", "n")}


# Names, and how often each is drawn.
OPERATIONS = {
    "open": 2,
    "open_view": 2,
    "save_view": 3,
    "change_view": 1,
    "check_view": 1,
    "rebase": 1,
    "iterate": 1,
    "index": 1,
    "take": 1,
    "batches": 1,
    "column": 1,
    "lengths": 1,
    "look": 1,
    "select": 1,
    "slice": 1,
    "filter": 1,
    "sort": 1,
    "shuffle": 1,
    "hide": 1,
    "with_columns": 1,
    "pickle": 2,
    "unpickle": 1,
    "unpickle_elsewhere": 1,
    "concat": 1,
    "write": 1,
    "order": 1,
    "dedup": 1,
    "begin_loop": 1,
    "resume": 2,
}
