"""What a trace shows of an edit."""

import jinx_pipeline as jp
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.worker.row_examples import around_change, row_examples


class Renaming(jp.Mapper):
    """Moves a column."""

    def process(self, batch, ctx):
        return {"new": batch.column("old"), "old": [REMOVED] * len(batch)}


def test_a_column_that_a_sample_lacked_before_is_no_change():
    before = Batch([{"old": 1}, {"old": 2}]).with_columns({"other": [REMOVED, REMOVED]})
    after = Renaming().run(before.copied(), Context())
    examples = row_examples(Renaming(), before, after, 9, Context())
    assert [(example["column"], example["before"], example["after"]) for example in examples] == [
        ("new", "None", "1"),
        ("new", "None", "2"),
        ("old", "1", "REMOVED"),
        ("old", "2", "REMOVED"),
    ]


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
