"""Recipes of Data-Juicer and MLDataForge become ours, and what is missing is said."""

import pytest

from jinx_pipeline.recipe.import_data_juicer import imported
from jinx_pipeline.recipe.read import read_recipe, recipe_of


def test_a_recipe_of_data_juicer():
    made = imported(
        {
            "project_name": "demo",
            "dataset_path": "in.jsonl",
            "export_path": "out.jsonl",
            "np": 4,
            "text_keys": "content",
            "image_key": "pictures",
            "process": [
                {"text_length_filter": {"min_len": 5, "num_proc": 3}},
                {"sixth_sense_filter": {"min": 1}},
                {"python_lambda_mapper": {"lambda_str": "lambda s: s"}},
                "clean_links_mapper",
            ],
        },
        "mine",
    )
    assert made.recipe["dataset"] == {"path": "in.jsonl", "text": "content", "images": "pictures"}
    steps = made.recipe["process"]
    assert steps[0] == {"text_length_filter": {"min_len": 5}}
    assert steps[-1] == "clean_links_mapper"
    assert any("sixth_sense_filter: there is no such operator yet" in remark for remark in made.remarks)
    assert list(made.files) == ["mine_lambda_0.py"]
    assert "lambda s: s" in made.files["mine_lambda_0.py"]
    assert made.recipe["workers"] == 4
    assert made.recipe["export"] == {"path": "out.jsonl", "keep_stats": False}
    recipe = recipe_of({**made.recipe, "process": [steps[0], steps[-1]]})
    assert [step.operator.name for step in recipe.steps] == ["text_length_filter", "clean_links_mapper"]


def test_a_mixture_keeps_its_weights():
    made = imported({"dataset_path": "0.3 a.jsonl 0.7 b.jsonl", "process": []}, "mine")
    assert made.recipe["dataset"]["sources"] == [{"path": "a.jsonl", "weight": 0.3}, {"path": "b.jsonl", "weight": 0.7}]
    assert any("Data-Juicer ignores them without max_sample_num" in remark for remark in made.remarks)
    equal = imported({"dataset_path": "0.5 a.jsonl 0.5 b.jsonl", "process": []}, "mine")
    assert not equal.remarks


def test_a_pipeline_of_mldataforge():
    code = "def process(sample):\n    return sample\n"
    made = imported(
        {
            "steps": [
                {"sources": ["in.jinx"], "transformations": code, "sink": {"name": "half"}},
                {"sources": ["half"], "shuffle": 7, "transformations": [code], "sink": "out.jinx"},
            ]
        },
        "mine",
    )
    assert made.recipe["dataset"] == {"path": "in.jinx"}
    assert made.recipe["export"] == {"path": "out.jinx"}
    assert [next(iter(step)) for step in made.recipe["process"]] == ["python_file_mapper"] * 2
    assert all(code in text for text in made.files.values())
    assert any("shuffle: not taken over" in remark for remark in made.remarks)


def test_something_else_is_refused():
    with pytest.raises(ValueError, match="neither a recipe of Data-Juicer"):
        imported({"jobs": []}, "mine")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"process": [{}]}, r"process\[0\]: the name of an operator"),
        ({"process": ["clean_links_mapper", None]}, r"process\[1\]: the name of an operator.*not null"),
        ({"process": [{"text_length_filter": [1]}]}, r"process\[0\]\.text_length_filter: a mapping"),
        ({"process": [{"fused_op": {"fused_op_list": 3}}]}, r"fused_op_list: a list of operators, not 3"),
        ({"process": [{"fused_op": {"fused_op_list": [3]}}]}, r"fused_op_list\[0\]: the name of an operator"),
        ({"process": [], "dataset": "in.jsonl"}, "dataset: a mapping with configs"),
        ({"process": [], "dataset": {"configs": ["in.jsonl"]}}, r"dataset\.configs: a list of mappings"),
        ({"steps": [None]}, r"steps\[0\]: a mapping"),
        ({"steps": [{"sources": [3]}]}, r"steps\[0\]\.sources: a list"),
        ({"steps": [{"sources": ["a"], "sink": {"path": 3}}]}, r"steps\[0\]\.sink: a path"),
        ({"steps": [{"sources": ["a"], "transformations": [3]}]}, r"steps\[0\]\.transformations: code as text"),
    ],
)
def test_a_part_of_another_form_is_named(data, message):
    with pytest.raises(ValueError, match=message):
        imported(data, "mine")


def test_what_an_operator_cannot_have_is_left_out_with_a_comment():
    needs = {"memory": float("inf"), "num_proc": [1]}
    made = imported({"process": [{"text_length_filter": needs}]}, "mine")
    assert made.recipe["process"] == ["text_length_filter"]
    assert [comment.partition(";")[0] for _, comment in made.comments] == [
        "left out of text_length_filter: memory: Infinity",
        "left out of text_length_filter: num_proc: [1]",
    ]


def test_fused_operators_become_their_operators():
    listed = [{"text_length_filter": {"min_len": 5}}, {"python_lambda_mapper": {"lambda_str": "lambda s: s"}}]
    made = imported(
        {"dataset_path": "a.jsonl", "process": [{"general_fused_op": {"batch_size": 9, "fused_op_list": listed}}]}, "x"
    )
    assert [next(iter(step)) for step in made.recipe["process"]] == ["text_length_filter", "python_file_mapper"]
    assert list(made.files) == ["x_lambda_0.py"]


def test_what_was_left_out_is_a_comment_in_its_place(tmp_path):
    missing = {"sixth_sense_filter": {"min": 1, "name": "é: #"}}
    theirs = {"dataset_path": "in.jinx", "np": "many", "process": ["clean_links_mapper", missing, "text_length_filter"]}
    made = imported({**theirs, "process": [*theirs["process"], "seventh_sense_filter"]}, "mine")
    assert made.text() == (
        "dataset:\n  path: in.jinx\nprocess:\n- clean_links_mapper\n"
        '# left out, there is no such operator: {"sixth_sense_filter": {"min": 1, "name": "é: #"}}\n'
        "- text_length_filter\n"
        '# left out, there is no such operator: {"seventh_sense_filter": null}\n'
    )
    (tmp_path / "ours.yaml").write_text(made.text(), "utf-8")
    names = [step.operator.name for step in read_recipe(tmp_path / "ours.yaml").steps]
    assert names == ["clean_links_mapper", "text_length_filter"]
    assert "np: many: not taken over; write workers: N for N processes" in made.remarks
    (tmp_path / "none.yaml").write_text(imported({**theirs, "process": [missing]}, "mine").text(), "utf-8")
    assert not read_recipe(tmp_path / "none.yaml").steps


def test_what_only_chooses_an_implementation_is_a_remark():
    process = [{"video_duration_filter": {"min_duration": 2, "video_backend": "ffmpeg"}}]
    made = imported({"dataset_path": "in.jinx", "process": process}, "mine")
    assert made.recipe["process"] == [{"video_duration_filter": {"min_duration": 2}}]
    assert made.remarks == ["video_duration_filter.video_backend: not taken over; it chooses how the same is computed"]
    wrapped = {"filter_name": "scale", "global_args": ["-nostdin"], "capture_stderr": True, "save_dir": "made"}
    made = imported({"dataset_path": "in.jinx", "process": [{"video_ffmpeg_wrapped_mapper": wrapped}]}, "mine")
    assert made.recipe["process"] == [{"video_ffmpeg_wrapped_mapper": {"filter_name": "scale", "save_dir": "made"}}]
    assert [remark.partition(":")[0] for remark in made.remarks] == [
        f"video_ffmpeg_wrapped_mapper.{name}" for name in ("global_args", "capture_stderr")
    ]
    # Data-Juicer reads any file that the data names.
    assert [note.partition(":")[0] for note in made.notes] == ["dataset.media_root"]


@pytest.mark.parametrize(
    ("theirs", "parameters", "ours", "kept"),
    [
        (
            "ray_image_deduplicator",
            {"backend": "ray_actor", "method": "dhash"},
            "image_deduplicator",
            {"method": "dhash"},
        ),
        ("ray_video_deduplicator", {"redis_address": "redis://localhost:6379"}, "video_deduplicator", {}),
        (
            "ray_document_deduplicator",
            {"dedup_set_num": 4, "lowercase": True},
            "document_deduplicator",
            {"lowercase": True},
        ),
        (
            "ray_bts_minhash_deduplicator",
            {"union_find_parallel_num": "auto", "jaccard_threshold": 0.8},
            "document_minhash_deduplicator",
            {"jaccard_threshold": 0.8},
        ),
    ],
)
def test_operators_for_ray_are_those_of_every_engine(theirs, parameters, ours, kept):
    made = imported({"dataset_path": "in.jinx", "process": [{theirs: parameters}]}, "mine")
    assert made.recipe["process"] == [{ours: kept} if kept else ours]
    assert made.remarks[0] == f"{theirs}: written as {ours}, which runs on Ray too"
    assert all("not taken over" in remark for remark in made.remarks[1:])


def test_how_a_language_model_runs_is_a_remark():
    theirs = {"api_or_hf_model": "qwen", "is_hf_model": True, "enable_vllm": True, "min_score": 0.5, "try_num": 3}
    made = imported({"dataset_path": "in.jinx", "process": [{"llm_quality_score_filter": theirs}]}, "mine")
    kept = {"api_or_hf_model": "qwen", "min_score": 0.5, "try_num": 3}
    assert made.recipe["process"] == [{"llm_quality_score_filter": kept}]
    assert len(made.remarks) == 2


def test_options_that_are_only_implied_are_explained():
    made = imported({"dataset_path": "in.jinx", "export_path": "o.jsonl", "open_tracer": True, "process": []}, "mine")
    assert (made.recipe["trace"], made.recipe["export"]["keep_stats"]) == (10, False)
    assert [note.partition(":")[0] for note in made.notes] == ["export.keep_stats", "trace"]
    assert not made.remarks


def test_what_changes_the_result_is_remarked_where_it_differs_from_the_default():
    process = [{"text_length_filter": {"min_len": 3}}]
    base = {"dataset_path": "in.jsonl", "process": process}
    defaults = {"suffixes": [], "image_special_token": "<__dj__image>", "load_dataset_kwargs": {}}
    assert not imported({**base, **defaults}, "r").remarks
    given = {"suffixes": [".txt"], "image_special_token": "<image>", "load_dataset_kwargs": {"split": "test"}}
    assert imported({**base, **given}, "r").remarks == [f"{name}: not taken over" for name in given]


def test_members_of_sources_are_remarked():
    configs = [{"type": "local", "path": "a.jsonl", "weight": 0.5, "split": "train"}, {"path": "b.jsonl"}]
    made = imported({"dataset": {"max_sample_num": 10, "configs": configs}, "process": []}, "r")
    not_taken = ["dataset.configs[0].split: not taken over", "dataset.max_sample_num: not taken over"]
    assert [remark for remark in made.remarks if "weights" not in remark] == not_taken
    assert len(made.remarks) == 3


def test_several_operators_in_one_entry():
    made = imported({"dataset_path": "a.jsonl", "process": [{"clean_ip_mapper": {}, "clean_links_mapper": None}]}, "r")
    assert made.recipe["process"] == ["clean_ip_mapper", "clean_links_mapper"]


def test_members_of_steps_are_remarked():
    step = {"sources": [{"path": "a.jsonl", "limit": 5}], "sink": {"path": "b.jsonl", "compression": "xz"}, "trace": 1}
    assert imported({"steps": [step]}, "r").remarks == [
        "steps[0].trace: not taken over",
        "steps[0].sources.limit: not taken over",
        "steps[0].sink.compression: not taken over",
    ]


@pytest.mark.parametrize("path", ["my data.jsonl", "0.5 a.jsonl 0.5", "a.jsonl"])
def test_a_path_that_is_no_mixture(path):
    assert imported({"dataset_path": path, "process": []}, "r").recipe["dataset"] == {"path": path}


def test_what_operators_of_data_juicer_need_is_kept_or_said():
    made = imported(
        {
            "dataset_path": "in.jsonl",
            "export_path": "out.jsonl",
            "process": [
                {"text_length_filter": {"min_len": 5, "num_proc": 3, "batch_size": 40, "mem_required": "8GB"}},
                {"words_num_filter": {"num_gpus": 0.5, "cpu_required": 2, "mem_required": 1.5, "num_proc": -1}},
                {"clean_links_mapper": {"gpu_required": "some", "batch_size": "auto"}},
            ],
        },
        "mine",
    )
    assert made.recipe["process"] == [
        {"text_length_filter": {"min_len": 5, "resources": {"memory": "8GB"}, "batch_rows": 40}},
        {"words_num_filter": {"resources": {"gpus": 0.5, "cpus": 2, "memory": 3 << 29}}},
        "clean_links_mapper",
    ]
    comments = [line for line in made.text().splitlines() if line.startswith("#")]
    assert [line.split(";")[0] for line in comments] == [
        "# left out of text_length_filter: num_proc: 3",
        '# left out of clean_links_mapper: gpu_required: "some"',
        '# left out of clean_links_mapper: batch_size: "auto"',
    ]
    assert made.text().index("num_proc") < made.text().index("- text_length_filter")
    assert recipe_of(made.recipe).steps[1].resources.gpus == 0.5
