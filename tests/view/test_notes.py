"""Tags and notes: on disk before they are acknowledged, a file for each person, and views of what was annotated."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import jinx
from jinx._dataset.identity import identity_of
from jinx._notes.agreement import cohen_kappa, krippendorff_alpha, percent
from jinx._notes.journal import Journal, Note, NotesFile
from jinx._notes.merge import agreement, annotated
from view_data import until


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        for i in range(50):
            writer.write({"id": f"s{i}", "text": f"text {i}"})
    return path


def journal(path: Path, small: Path, by: str = "anna") -> Journal:
    return Journal(str(path), dataset=str(small), identity=identity_of(jinx.open(small)), by=by)


def test_notes_come_back(tmp_path: Path, small: Path) -> None:
    written = journal(tmp_path / "anna.notes", small)
    written.set(3, Note(("good",), ""))
    written.set(7, Note(("bad", "blurry"), "why?\n"))
    written.set(3, Note((), ""))
    written.set(9, Note(("good",), ""))
    with pytest.raises(jinx.InvalidError, match="another viewer"):
        journal(tmp_path / "anna.notes", small)
    written.close()
    again = journal(tmp_path / "anna.notes", small)
    assert again.content.given == {7: Note(("bad", "blurry"), "why?\n"), 9: Note(("good",), "")}
    again.close()


def test_a_line_that_was_cut_is_not_there(tmp_path: Path, small: Path) -> None:
    path = tmp_path / "anna.notes"
    written = journal(path, small)
    for i in range(5):
        written.set(i, Note(("good",), f"note {i}"))
    written.close()
    data = path.read_bytes()
    head = data.index(b"\n") + 1
    for cut in range(head, len(data) + 1, 7):
        path.write_bytes(data[:cut])
        whole = data[:cut].count(b"\n") - 1
        assert len(NotesFile.read(str(path)).notes) == whole
        with_more = journal(path, small)
        with_more.set(40, Note((), "after"))
        with_more.close()
        assert sorted(NotesFile.read(str(path)).notes) == [*range(whole), 40]
    path.write_bytes(data[: head // 2])
    journal(path, small).close()
    assert NotesFile.read(str(path)).notes == {}


def test_other_files_are_refused(tmp_path: Path, small: Path) -> None:
    other = tmp_path / "b.jinx"
    with jinx.Writer(other) as writer:
        writer.write({"id": "x"})
    journal(tmp_path / "anna.notes", small).close()
    with pytest.raises(jinx.MismatchError, match="is for 50 samples"):
        journal(tmp_path / "anna.notes", other)
    (tmp_path / "odd").write_text("hello\n")
    with pytest.raises(jinx.CorruptFileError, match="not a file of notes"):
        NotesFile.read(str(tmp_path / "odd"))


@pytest.mark.parametrize(
    "content", [b"one line", b"two\nlines", bytes(range(256)), b'{"a": 1}', b'{"jinx_notes": 1}\n{']
)
def test_a_file_of_another_kind_keeps_its_bytes(tmp_path: Path, small: Path, content: bytes) -> None:
    path = tmp_path / "other.jpg"
    path.write_bytes(content)
    with pytest.raises(jinx.CorruptFileError, match="not a file of notes"):
        journal(path, small)
    assert path.read_bytes() == content


def test_notes_for_another_dataset_keep_their_bytes(tmp_path: Path, small: Path) -> None:
    path = tmp_path / "anna.notes"
    written = journal(path, small)
    written.set(1, Note(("good",), ""))
    written.close()
    path.write_bytes(path.read_bytes() + b'{"sample": 2, ')
    before = path.read_bytes()
    jinx.convert([{"id": 1}], tmp_path / "b.jinx")
    with pytest.raises(jinx.MismatchError):
        journal(path, tmp_path / "b.jinx")
    assert path.read_bytes() == before


def test_a_first_line_that_was_cut_is_written_again(tmp_path: Path, small: Path) -> None:
    path = tmp_path / "anna.notes"
    journal(path, small).close()
    head = path.read_bytes()
    for cut in range(len(head)):
        path.write_bytes(head[:cut])
        journal(path, small).close()
        assert path.read_bytes() == head


def test_a_dataset_named_as_notes_stays_whole(small: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jinx", "view", str(small), "--notes", str(small), "--no-open"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "not a file of notes" in done.stderr
    assert jinx.verify(small) == []


def test_notes_of_one_person_are_not_continued_as_those_of_another(tmp_path: Path, small: Path) -> None:
    path = tmp_path / "anna.notes"
    journal(path, small).close()
    done = subprocess.run(
        [sys.executable, "-m", "jinx", "view", str(small), "--notes", str(path), "--by", "ben", "--no-open"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "are by anna" in done.stderr


def test_annotated_samples_are_a_view(tmp_path: Path, small: Path) -> None:
    for by, given in {"anna": {3: "good", 8: "bad"}, "ben": {8: "bad", 9: "good", 3: "bad"}}.items():
        written = journal(tmp_path / f"{by}.notes", small, by)
        for sample, tag in given.items():
            written.set(sample, Note((tag,), f"by {by}"))
        written.close()
    files = [NotesFile.read(str(tmp_path / f"{by}.notes")) for by in ("anna", "ben")]
    one = annotated(files[:1])
    assert (one["id"], [list(tags) for tags in one["tags"]]) == (["s3", "s8"], [["good"], ["bad"]])
    both = annotated(files)
    assert both["id"] == ["s3", "s8", "s9"]
    assert both["agreed"].tolist() == [False, True, True]
    assert both["note_anna"] == ["by anna", "by anna", None]
    both.save(tmp_path / "both.jinx")
    assert jinx.open(tmp_path / "both.jinx")[0]["tags_ben"] == ["bad"]
    facts = agreement(files)
    assert (facts["samples"], facts["shared"], facts["percent"]) == (3, 2, 0.5)
    with pytest.raises(jinx.InvalidError, match="two files are by anna"):
        annotated([files[0], files[0]])


def test_the_command_saves_and_compares(tmp_path: Path, small: Path) -> None:
    from jinx._cli.program import run

    for by in ("anna", "ben"):
        written = journal(tmp_path / f"{by}.notes", small, by)
        written.set(5, Note(("good",), ""))
        written.close()
    out = tmp_path / "annotated.jinx"
    assert run(["notes", str(tmp_path / "anna.notes"), str(tmp_path / "ben.notes"), "--save", str(out)]) == 0
    assert jinx.open(out)["id"] == ["s5"]
    assert run(["notes", str(small)]) == 1


def test_agreement_is_that_of_published_examples() -> None:
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), C: four observers, twelve units.
    table = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    alpha = krippendorff_alpha(list(zip(*table, strict=True)))
    assert alpha == pytest.approx(0.743, abs=5e-4)
    # Cohen's kappa in Wikipedia's example: 20 times yes from both, 15 times no, 5 and 10 apart.
    first = ["y"] * 20 + ["y"] * 5 + ["n"] * 10 + ["n"] * 15
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert percent(list(zip(first, second, strict=True))) == pytest.approx(0.7)
    assert percent([]) is None
    assert cohen_kappa([1], [None]) is None
    assert krippendorff_alpha([[1, 1], [1, 1]]) is None


def post(url: str, sample: int, tags: list[str]) -> None:
    body = json.dumps({"sample": sample, "tags": tags, "note": ""}).encode()
    request = Request(f"{url}notes", data=body, headers={"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        assert answer.status == 200


def test_a_killed_viewer_loses_nothing_acknowledged(tmp_path: Path, small: Path) -> None:
    notes = tmp_path / "anna.notes"
    command = [sys.executable, "-m", "jinx", "view", str(small), "--no-open", "--notes", str(notes)]
    viewer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert viewer.stdout is not None
    url = viewer.stdout.readline().strip()
    acknowledged: list[int] = []

    def annotate(first: int) -> None:
        try:
            for sample in range(first, 50, 4):
                post(url, sample, ["good"])
                acknowledged.append(sample)
        except OSError:
            return

    writers = [threading.Thread(target=annotate, args=(first,)) for first in range(4)]
    for writer in writers:
        writer.start()
    while len(acknowledged) < 12 and any(writer.is_alive() for writer in writers):
        time.sleep(0.005)
    assert len(acknowledged) >= 12
    viewer.send_signal(signal.SIGKILL)
    viewer.wait(60)
    for writer in writers:
        writer.join(70)
    viewer.stdout.close()
    kept = NotesFile.read(str(notes)).given
    assert set(acknowledged) <= set(kept)


def by_hand(tmp_path: Path, small: Path, act: Callable[[str], None]) -> dict[int, Note]:
    """What someone who acts at the address of a viewer notes."""
    from jinx._viewer.app import Viewer
    from jinx._viewer.server import ViewServer
    from jinx._viewer.shown import ShownDataset

    kept = journal(tmp_path / "anna.notes", small)
    server = ViewServer(Viewer([ShownDataset(jinx.open(small), str(small))], {}, notes=kept, tags=["good", "bad"]))
    thread = server.start()
    try:
        act(server.url)
    finally:
        server.stop()
        thread.join(60)
        kept.close()
    return NotesFile.read(str(tmp_path / "anna.notes")).given


def wait_until_saved(page: Any) -> None:
    until(page, "() => document.querySelector('.notes [role=status]').textContent === 'saved'")


def tags_by_keys(page: Any, url: str) -> None:
    page.goto(f"{url}?layout=grid")
    page.wait_for_selector(".card .id")
    page.keyboard.press("j")
    page.keyboard.press("2")
    page.wait_for_selector(".card[data-index='0'] .tag")
    page.keyboard.press("j")
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("u")
    until(page, "() => document.querySelectorAll(\".card[data-index='1'] .tag\").length === 1")
    page.keyboard.press("n")
    page.wait_for_selector("#note")
    page.keyboard.type("a note")
    page.keyboard.press("Escape")
    wait_until_saved(page)


def test_tags_by_keys(page: Any, small: Path, tmp_path: Path) -> None:
    given = by_hand(tmp_path, small, lambda url: tags_by_keys(page, url))
    assert given == {0: Note(("bad",), ""), 1: Note(("good",), "a note")}


def test_a_tag_is_that_of_the_sample_in_the_title(page: Any, small: Path, tmp_path: Path) -> None:
    def act(url: str) -> None:
        page.goto(f"{url}?sample=0")
        page.wait_for_selector(".sample-content")
        held: list[Any] = []
        page.route("**/sample/1", lambda route: held.append(route))  # noqa: PLW0108 - Playwright sets attributes of it
        with page.expect_request("**/sample/1"):
            page.keyboard.press("j")
        assert page.locator(".sample-head .id").inner_text() == "1"
        page.get_by_role("button", name="good").click()
        wait_until_saved(page)
        held[0].continue_()
        page.locator(".fields").get_by_text("text 1", exact=True).wait_for()

    assert by_hand(tmp_path, small, act) == {1: Note(("good",), "")}


def test_a_tag_is_pressed_while_a_note_is_saved(page: Any, small: Path, tmp_path: Path) -> None:
    def act(url: str) -> None:
        page.goto(f"{url}?sample=0")
        page.get_by_label("Note").press_sequentially("why")
        # The press takes the focus from the note, which is then saved.
        page.get_by_role("button", name="bad").click()
        page.wait_for_selector(".tag-button[aria-pressed=true]")
        wait_until_saved(page)

    assert by_hand(tmp_path, small, act) == {0: Note(("bad",), "why")}


def test_a_note_that_was_taken_back_does_not_come_again(page: Any, small: Path, tmp_path: Path) -> None:
    def act(url: str) -> None:
        page.goto(f"{url}?sample=0")
        page.get_by_label("Note").fill("typed")
        page.keyboard.press("Escape")
        page.keyboard.press("u")
        page.wait_for_timeout(900)  # longer than a pause in typing after which a note is saved
        until(page, "() => document.querySelector('.notes [role=status]').textContent === ''")

    assert by_hand(tmp_path, small, act) == {}
