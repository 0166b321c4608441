"""What a trace shows of an edit."""

from jinx_pipeline.worker.row_examples import around_change


def test_the_changed_place_is_seen():
    before, after = around_change("x" * 1000 + "old" + "y" * 1000, "x" * 1000 + "new" + "y" * 1000, 80)
    assert "old" in before
    assert "new" in after
    assert before.startswith("...")
    assert len(before) <= 86


def test_short_strings_and_early_changes_are_not_cut_in_front():
    assert around_change("a", "b", 80) == ("a", "b")
    assert around_change("old" + "y" * 100, "new" + "y" * 100, 80) == (
        "old" + "y" * 77 + "...",
        "new" + "y" * 77 + "...",
    )
    assert around_change("same" * 100, "same" * 99, 80)[1].endswith("same")
