"""A condition on rows counts those of any output of any node."""

import pytest

import jinx
import jinx_pipeline as jp

RECIPE = """\
nodes:
  a: {{source: a.jinx}}
  b: {{source: b.jinx}}
  more: {{source: b.jinx, when: {{rows: a, at_least: 20}}}}
  none: {{source: b.jinx, when: {{rows: a, at_least: 21}}}}
  one: {{operators: [text_length_filter: {{min_len: 4}}]}}
  chosen:
    operators:
      - text_length_filter: {{min_len: 4}}
      - specified_numeric_field_filter: {{field_key: n, max_value: 12}}
  unique: {{operators: [document_deduplicator]}}
  group: {{operators: [naive_grouper, field_aggregator: {{columns: {{count: count}}}}]}}
  mixed: {{operators: [shuffle]}}
  joined: {{join: {{on: n, how: inner}}}}
{sinks}
flows:
  - {{from: a, to: [one, chosen, unique, group, joined.left]}}
  - {{from: b, to: joined.right}}
  - {{from: a, to: mixed, weight: 1}}
  - {{from: b, to: mixed, weight: 2}}
{flows}
workers: 1
block_rows: 6
work_dir: work
"""
# Texts of 20 samples have 3 characters if n % 14 < 10, otherwise 4; samples 14 to 19 repeat the first six.
COUNTS = {
    "a": 20,
    "more": 10,
    "none": 0,
    "one": 4,
    "one.dropped": 16,
    "chosen": 3,
    "chosen.dropped": 17,
    "unique": 14,
    "group": 1,
    "mixed": 15,
    "joined": 10,
}


@pytest.mark.timeout(180)
def test_conditions_count_the_rows_of_every_kind_of_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, count in (("a", 20), ("b", 10)):
        with jinx.Writer(f"{name}.jinx") as writer:
            writer.write_many([{"n": 2 * n if name == "b" else n} | texts(name, n) for n in range(count)])
    expected: dict[str, int] = {}
    sinks, flows = [], []
    for name, count in COUNTS.items():
        flows.append(f"  - {{from: {name}, to: all_{name.replace('.', '_')}}}")
        sinks.append(f"  all_{name.replace('.', '_')}: {{sink: all_{name}.jinx}}")
        expected[f"all_{name}.jinx"] = count
        for condition, passes in ((f"at_least: {count}", True), (f"at_least: {count + 1}", False)):
            sink = f"if_{name.replace('.', '_')}_{passes}"
            sinks.append(f"  {sink}: {{sink: {sink}.jinx, when: {{rows: {name}, {condition}}}}}")
            flows.append(f"  - {{from: b, to: {sink}}}")
            expected[f"{sink}.jinx"] = 10 if passes else 0
    text = RECIPE.format(sinks="\n".join(sinks), flows="\n".join(flows))
    (tmp_path / "recipe.yaml").write_text(text)
    jp.Run(jp.read_recipe("recipe.yaml"))()
    assert {path: len(jinx.open(path)) for path in expected} == expected


def texts(name, n):
    return {"text": f"a {n % 14}"} if name == "a" else {"score": n}
