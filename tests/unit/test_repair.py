"""Repair: what the writer of the new file refuses is lost alone."""

import json

import jinx


def test_a_row_that_the_new_writer_refuses_costs_itself(tmp_path):
    # The footer of the new file has no room for all these names; the file of a dead writer of JINX 1.0 lists none.
    rows = [{f"{i:02d}" + "x" * 1_000_000: i} for i in range(40)] + [{"n": i} for i in range(300)]
    (tmp_path / ".a.jinx.tmp").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (tmp_path / ".a.binx.tmp").write_bytes(b"x" * 16)
    done = jinx.repair(tmp_path / "a.jinx")
    assert done.out is not None
    lost = [loss["line"] for loss in done.lost]
    assert 0 < len(lost) < 40
    assert lost == sorted(lost)
    assert all("the footer" in loss["reason"] for loss in done.lost)
    assert (done.samples, done.kept) == (340, 340 - len(lost))
    kept = [row for i, row in enumerate(rows) if i not in lost]
    assert [one.to_dict() for one in jinx.open(done.out)] == kept
    assert jinx.verify(done.out) == []
