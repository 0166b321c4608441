"""The figures of operators: what each of them read, made and failed on."""

import jinx
import jinx_pipeline as jp

FUNCTIONS = """
def first(sample):
    if sample["n"] < 3:
        raise ValueError(sample["n"])
    return sample

def second(sample):
    if sample["n"] > 5:
        raise ValueError(sample["n"])
    return sample
"""


def test_rows_count_for_the_operator_that_failed_on_them_not_for_another_of_its_name(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n} for n in range(10))
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS)
    operators = [jp.create("python_file_mapper", file_path=file, function_name=name) for name in ("first", "second")]
    result = (
        jp.Dataset.load(tmp_path / "in.jinx")
        .process(operators)
        .export(tmp_path / "out.jinx", workers=1, max_bad_rows=7)
    )
    figures = [(totals.rows_in, totals.rows_out, totals.bad_rows) for totals in result.operators]
    assert figures == [(10, 7, 3), (7, 3, 4)]
    assert [(bad.row, bad.number) for bad in result.bad_rows] == [
        *((n, 0) for n in range(3)),
        *((n, 1) for n in range(6, 10)),
    ]
