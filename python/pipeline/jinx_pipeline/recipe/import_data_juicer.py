"""Imports recipes of Data-Juicer and MLDataForge, and reports what could not be imported."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Keys of Data-Juicer's recipes that concern the run; our recipes have their own options for these.
_OF_THE_RUN = [
    "project_name",
    "executor_type",
    "op_fusion",
    "fusion_strategy",
    "use_cache",
    "use_checkpoint",
    "temp_dir",
    "ds_cache_dir",
    "cache_compress",
    "open_monitor",
    "turbo",
    "skip_op_error",
    "adaptive_batch_size",
    "ray_address",
    "export_in_parallel",
    "data_probe_algo",
    "data_probe_ratio",
    "debug",
    "percentiles",
    "export_original_dataset",
    "save_stats_in_one_file",
    "open_insight_mining",
    "op_list_to_mine",
    "op_list_to_trace",
    "config",
    "auto",
    "auto_num",
    "hpo_config",
]
# Keys that may change the result, each with its default value; with this value, the key can be ignored.
_WITH_DEFAULTS: dict[str, Any] = {
    "suffixes": [],
    "eoc_special_token": "<|__dj__eoc|>",
    "image_special_token": "<__dj__image>",
    "audio_special_token": "<__dj__audio>",
    "video_special_token": "<__dj__video>",
    "keep_hashes_in_res_ds": False,
    "load_dataset_kwargs": {},
}
# Parameters of all Data-Juicer operators for resources, with our names.
_NEEDS = {
    "num_cpus": "cpus",
    "cpu_required": "cpus",
    "num_gpus": "gpus",
    "gpu_required": "gpus",
    "memory": "memory",
    "mem_required": "memory",
}
# Other parameters of all Data-Juicer operators. Here, the planner, the worker or the recipe decides instead.
_OF_ALL_OPERATORS = [
    *_NEEDS,
    "num_proc",
    "batch_size",
    "batch_mode",
    "accelerator",
    "skip_op_error",
    "turbo",
    "work_dir",
    "runtime_env",
    "ray_execution_mode",
    "index_key",
    "auto_op_parallelism",
]
# Parameters that select an implementation with the same result, or limit its resources.
_OF_IMPLEMENTATIONS = [
    "accelerator_type",
    "enable_vllm",
    "engine_kwargs",
    "is_api_model",
    "is_hf_model",
    "response_path",
    "batch_size_each_video",
    "capture_stderr",
    "ffmpeg_extra_args",
    "global_args",
    "legacy_split_by_text_token",
    "output_format",
    "overwrite_output",
    "show_progress",
    "video_backend",
    "trust_remote_code",
    "backend",
    "redis_address",
    "dedup_set_num",
    "ray_batch_size",
    "minhash_batch_size",
    "merge_batch_size",
    "union_find_parallel_num",
    "union_threshold",
    "max_pending_edge_buffer_task",
    "num_edge_buffer_task_ratio",
    "max_pending_filter_tasks",
    "num_filter_task_ratio",
    "actor_memory",
    "task_memory",
    "memory_per_sample",
]
# Operators that Data-Juicer has in two versions, for Ray and without it.
_FOR_RAY = {
    "ray_bts_minhash_cpp_deduplicator": "document_minhash_deduplicator",
    "ray_bts_minhash_deduplicator": "document_minhash_deduplicator",
    "ray_document_deduplicator": "document_deduplicator",
    "ray_image_deduplicator": "image_deduplicator",
    "ray_video_deduplicator": "video_deduplicator",
}
_IMPORTED_KEYS = [
    "np",
    "process",
    "dataset_path",
    "dataset",
    "export_path",
    "export_shard_size",
    "keep_stats_in_res_ds",
    "seed",
    "work_dir",
    "custom_operator_paths",
    "open_tracer",
    "trace_num",
    "text_keys",
    "image_key",
    "audio_key",
    "video_key",
]


_OF_STEPS = {"name", "sources", "transformations", "sink", "shuffle", "index", "sort_key"}


@dataclass
class Imported:
    """An imported recipe.

    Attributes:
        recipe: The recipe in our form, as plain data.
        remarks: What was not taken over, one line each.
        notes: Options of our recipe that the original only implies, one line each.
        comments: Comments for `process` on omitted entries, each with the number of entries before it.
        files: Files with the Python code of the recipe, by name; they only run if the user keeps them.
    """

    recipe: dict[str, Any]
    remarks: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    comments: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    files: dict[str, str] = field(default_factory=dict[str, str])

    def text(self) -> str:
        """The recipe as YAML, with a comment for each entry of `process` that was left out."""
        sections: list[str] = []
        for name, value in self.recipe.items():
            if name != "process" or not self.comments:
                sections.append(_yaml({name: value}))
                continue
            entries = [*(_yaml([entry]) for entry in value), ""]
            for place, comment in reversed(self.comments):
                entries[place] = f"# {comment}\n{entries[place]}"
            sections.append(f"process:\n{''.join(entries)}")
        return "".join(sections)


def imported(data: Mapping[str, Any], stem: str) -> Imported:
    """Import a recipe.

    Args:
        data: The original recipe, as it was read.
        stem: The stem of the names of files with code.

    Raises:
        ValueError: The data are neither a recipe of Data-Juicer nor of MLDataForge, or a part of them has another form.
    """
    if isinstance(data.get("steps"), list):
        _refuse_forms_of_mldataforge(data["steps"])
        return _from_mldataforge(data, stem)
    if isinstance(data.get("process"), list):
        _refuse_forms_of_data_juicer(data)
        return _from_data_juicer(data, stem)
    raise ValueError("neither a recipe of Data-Juicer (process) nor a pipeline of MLDataForge (steps)")


def _refuse_forms_of_data_juicer(data: Mapping[str, Any]) -> None:
    for number, entry in enumerate(data["process"]):
        _refuse_form_of_operator(entry, f"process[{number}]")
    dataset = data.get("dataset") or {}
    if not isinstance(dataset, Mapping):
        raise ValueError("dataset: a mapping with configs; a path belongs to dataset_path")  # noqa: TRY004 - the wrong type is in a file
    configs = dataset.get("configs") or []
    if not isinstance(configs, list) or not all(isinstance(config, Mapping) for config in configs):
        raise ValueError("dataset.configs: a list of mappings with path")


def _refuse_form_of_operator(entry: Any, where: str) -> None:
    if isinstance(entry, str):
        return
    if not isinstance(entry, Mapping) or not entry or not all(isinstance(name, str) for name in entry):
        raise ValueError(f"{where}: the name of an operator, perhaps with parameters, not {_one_line(entry)}")
    for name, values in entry.items():
        if values is not None and not isinstance(values, Mapping):
            raise ValueError(f"{where}.{name}: a mapping with parameters, not {_one_line(values)}")
        fused = (values or {}).get("fused_op_list") or []
        if not isinstance(fused, list):
            raise ValueError(f"{where}.{name}.fused_op_list: a list of operators, not {_one_line(fused)}")  # noqa: TRY004 - the wrong type is in a file
        for number, inner in enumerate(fused):
            _refuse_form_of_operator(inner, f"{where}.{name}.fused_op_list[{number}]")


def _refuse_forms_of_mldataforge(steps: list[Any]) -> None:
    for number, step in enumerate(steps):
        where = f"steps[{number}]"
        if not isinstance(step, Mapping):
            raise ValueError(f"{where}: a mapping with sources, transformations and sink, not {_one_line(step)}")  # noqa: TRY004 - the wrong type is in a file
        sources, sink, code = step.get("sources", []), step.get("sink"), step.get("transformations")
        if not isinstance(sources, list) or not all(isinstance(source, str | Mapping) for source in sources):
            raise ValueError(f"{where}.sources: a list of paths or mappings, not {_one_line(sources)}")
        path = sink.get("path") if isinstance(sink, Mapping) else sink
        if path is not None and not isinstance(path, str):
            raise ValueError(f"{where}.sink: a path or a mapping with path, not {_one_line(sink)}")
        if code is not None and not (isinstance(code, str) or _is_list_of_texts(code)):
            raise ValueError(f"{where}.transformations: code as text, or a list of such texts")


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(element, str) for element in value)


def _from_data_juicer(data: Mapping[str, Any], stem: str) -> Imported:
    dataset: dict[str, Any] = {}
    converted = Imported({"dataset": dataset, "process": []})
    _data_juicer_sources(data, dataset, converted)
    dataset |= _data_juicer_roles(data, converted)
    for entry in data["process"]:
        _data_juicer_step(entry, converted, stem)
    if data.get("export_path"):
        converted.recipe["export"] = {"path": data["export_path"], "keep_stats": bool(data.get("keep_stats_in_res_ds"))}
        if data.get("export_shard_size"):
            converted.recipe["export"]["shard_size"] = data["export_shard_size"]
        converted.notes.append(
            "export.keep_stats: statistics of filters stay in the output (keep_stats_in_res_ds)"
            if converted.recipe["export"]["keep_stats"]
            else "export.keep_stats: false: Data-Juicer leaves the statistics of filters out of the output by default"
        )
    options = {"seed": "seed", "work_dir": "work_dir", "custom_operators": "custom_operator_paths"}
    converted.recipe |= {ours: data[theirs] for ours, theirs in options.items() if data.get(theirs)}
    if data.get("open_tracer"):
        converted.recipe["trace"] = data.get("trace_num", 10)
        converted.notes.append(
            f"trace: {converted.recipe['trace']}: so many examples of changed and dropped rows (open_tracer)"
        )
    _data_juicer_workers(data.get("np"), converted)
    if any(_is_of_media(step) for step in converted.recipe["process"]):
        converted.notes.append(
            "dataset.media_root: media are read below the directory of the input alone; if the data names other files, "
            "by absolute paths for instance, write dataset: {media_root: DIRECTORY} or {media_outside: true}"
        )
    other_keys = {name: value for name, value in data.items() if name not in {*_IMPORTED_KEYS, *_OF_THE_RUN}}
    changed = {name: value for name, value in other_keys.items() if value not in (None, _WITH_DEFAULTS.get(name))}
    _remark_not_taken(changed, converted)
    return converted


def _remark_weights(sources: list[dict[str, Any]], converted: Imported) -> None:
    if len({source.get("weight", 1.0) for source in sources}) > 1:
        converted.remarks.append(
            "dataset: weights limit the samples of a source relative to those of the largest weight; Data-Juicer "
            "ignores them without max_sample_num: remove them to take all samples"
        )


def _remark_not_taken(names: Iterable[str], converted: Imported, where: str = "") -> None:
    converted.remarks += [f"{where}{name}: not taken over" for name in names]


def _is_of_media(step: Any) -> bool:
    """Whether any operator of the recipe reads images, audios or videos."""
    from jinx_pipeline.operators.api.registry import operator_class

    name = step if isinstance(step, str) else next(iter(step))
    return operator_class(name).modality in {"image", "audio", "video", "multimodal"}


def _data_juicer_workers(processes: Any, converted: Imported) -> None:
    if type(processes) is int and processes >= 1:
        converted.recipe["workers"] = processes
    elif processes is not None:
        converted.remarks.append(f"np: {processes}: not taken over; write workers: N for N processes")


def _data_juicer_roles(data: Mapping[str, Any], converted: Imported) -> dict[str, Any]:
    keys = data.get("text_keys")
    text = keys[0] if isinstance(keys, list) and keys else keys
    if isinstance(keys, list) and len(keys) > 1:
        converted.remarks.append(f"text_keys: only the first of {', '.join(map(str, keys))} was taken over")
    named = {"text": text, **{role: data.get(f"{role[:-1]}_key") for role in ("images", "audios", "videos")}}
    return {role: value for role, value in named.items() if value and value != role}


def _data_juicer_sources(data: Mapping[str, Any], dataset: dict[str, Any], converted: Imported) -> None:
    configs = data.get("dataset", {}).get("configs", []) if isinstance(data.get("dataset"), dict) else []
    if configs:
        sources: list[dict[str, Any]] = []
        for number, config in enumerate(configs):
            if config.get("type", "local") != "local" or "path" not in config:
                converted.remarks.append(
                    f"dataset.configs[{number}]: only local files are read; convert it with jinx convert first"
                )
                continue
            source = {"path": config["path"]}
            source |= {"weight": config["weight"]} if "weight" in config else {}
            unknown = [name for name in config if name not in {"type", *source}]
            _remark_not_taken(unknown, converted, f"dataset.configs[{number}].")
            sources.append(source)
        dataset["sources"] = sources
        _remark_weights(sources, converted)
        _remark_not_taken([name for name in data["dataset"] if name != "configs"], converted, "dataset.")
        return
    text = str(data.get("dataset_path") or "").strip()
    words = text.split()
    try:
        sources = [
            {"path": path, "weight": float(weight)} for weight, path in zip(words[::2], words[1::2], strict=True)
        ]
    except ValueError:  # a single path, which may contain spaces
        sources = []
    if sources:
        dataset["sources"] = sources
        _remark_weights(sources, converted)
        return
    dataset["path"] = text or "TODO.jinx"
    if not text:
        converted.remarks.append("dataset_path: there is none; write the path of the input in place of TODO.jinx")


def _data_juicer_step(entry: Any, converted: Imported, stem: str) -> None:
    from jinx_pipeline.operators.api.parameters import ParameterError, hints_of
    from jinx_pipeline.operators.api.registry import UnknownOperatorError, operator_class
    from jinx_pipeline.recipe.read import FUSED

    if isinstance(entry, Mapping) and len(entry) > 1:
        for name, values in entry.items():
            _data_juicer_step({name: values}, converted, stem)
        return
    name, values = (entry, None) if isinstance(entry, str) else next(iter(entry.items()))
    if name in FUSED:  # the planner fuses operators itself
        for inner in (values or {}).get("fused_op_list") or []:
            _data_juicer_step(inner, converted, stem)
        return
    name = _everywhere(name, converted)
    parameters = {key: value for key, value in (values or {}).items() if key not in _OF_ALL_OPERATORS}
    if name == "python_lambda_mapper":
        file = f"{stem}_lambda_{len(converted.files)}.py"
        converted.files[file] = (
            f"# From a recipe: python_lambda_mapper {{lambda_str: {parameters.get('lambda_str', '')!r}}}.\n"
            "# Write it as a function; code in a recipe is never run.\n\n\n"
            "def process(sample):\n    raise NotImplementedError\n"
        )
        converted.recipe["process"].append({"python_file_mapper": {"file_path": file, "function_name": "process"}})
        converted.remarks.append(f"{name}: write the function in {file}")
        return
    try:
        cls = operator_class(name)
        known = hints_of(cls)
        for key in [key for key in parameters if key in _OF_IMPLEMENTATIONS and key not in known]:
            del parameters[key]
            converted.remarks.append(f"{name}.{key}: not taken over; it chooses how the same is computed")
        cls(**parameters)
    except UnknownOperatorError:
        converted.remarks.append(f"{name}: there is no such operator yet; it was left out")
        _comment(converted, f"left out, there is no such operator: {_one_line({name: values})}")
        return
    except (ParameterError, TypeError, ValueError) as error:
        converted.remarks.append(f"{error}; check this parameter")
    except ImportError as error:
        converted.remarks.append(str(error))
    parameters |= _data_juicer_needs(name, values or {}, converted)
    converted.recipe["process"].append({name: parameters} if parameters else name)


def _everywhere(name: str, converted: Imported) -> str:
    """The name of the equivalent operator that runs on every engine."""
    ours = _FOR_RAY.get(name)
    if ours is None:
        return name
    converted.remarks.append(f"{name}: written as {ours}, which runs on Ray too")
    return ours


def _data_juicer_needs(name: str, values: Mapping[str, Any], converted: Imported) -> dict[str, Any]:
    """The resources and the batch size of an operator."""
    from jinx_pipeline.operators.api.resources import Resources

    needs: dict[str, Any] = {}
    requests: dict[str, Any] = {}
    for theirs, ours in _NEEDS.items():
        value = values.get(theirs)
        if not value or value == -1:  # the planner decides, as it does in Data-Juicer
            continue
        # In Data-Juicer, a plain number means GiB.
        try:
            amount = int(value * (1 << 30)) if ours == "memory" and isinstance(value, int | float) else value
            Resources().updated({ours: amount})
        except (OverflowError, ValueError) as error:
            _comment(converted, f"left out of {name}: {theirs}: {_one_line(value)}; {error}")
        else:
            needs.setdefault(ours, amount)
    if needs:
        requests["resources"] = needs
    size = values.get("batch_size")
    if type(size) is int and size > 0:
        requests["batch_rows"] = size
    elif size is not None:
        _comment(converted, f"left out of {name}: batch_size: {_one_line(size)}; batch_rows is a whole number")
    if values.get("num_proc") not in (None, -1):
        advice = "as many workers run it as have room for what each needs, and workers: N bounds them for all operators"
        _comment(converted, f"left out of {name}: num_proc: {_one_line(values['num_proc'])}; {advice}")
    return requests


def _comment(converted: Imported, text: str) -> None:
    """Add a comment on something left out, before the next operator."""
    converted.comments.append((len(converted.recipe["process"]), text))


def _one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _from_mldataforge(data: Mapping[str, Any], stem: str) -> Imported:
    """Import steps that are connected by named sinks as one recipe."""
    converted = Imported({"process": []})
    expected: str | None = None
    for number, step in enumerate(data["steps"]):
        sources = [
            source if isinstance(source, str) else source.get("path") or source.get("name")
            for source in step.get("sources", [])
        ]
        if number == 0:
            converted.recipe["dataset"] = (
                {"path": sources[0]} if len(sources) == 1 else {"sources": [{"path": p} for p in sources]}
            )
        elif sources != [expected]:
            converted.remarks.append(
                f"steps[{number}]: does not continue step {number - 1}; import it as a recipe of its own"
            )
            break
        for name in ("shuffle", "index", "sort_key"):
            if step.get(name) is not None:
                converted.remarks.append(
                    f"steps[{number}].{name}: not taken over; use jinx shuffle or jinx sort on the output"
                )
        for code in _listed(step.get("transformations")):
            file = f"{stem}_step_{len(converted.files)}.py"
            converted.files[file] = f"# From a pipeline of MLDataForge. Read it before you run it.\n{code}\n"
            converted.recipe["process"].append({"python_file_mapper": {"file_path": file, "function_name": "process"}})
            if "flushable" in code:
                converted.remarks.append(f"{file}: flushable transformations collect samples; ours see one at a time")
        _remark_members(step, converted, f"steps[{number}].")
        sink = step.get("sink")
        path = sink.get("path") if isinstance(sink, dict) else sink
        expected = (sink.get("name") if isinstance(sink, dict) else None) or path
        if path is not None and (isinstance(sink, dict) or "." in path):
            converted.recipe["export"] = {"path": path.replace("{part}", "part")}
    if converted.files:
        converted.remarks.append(
            f"code was written to {', '.join(converted.files)}; it runs only because the recipe names it"
        )
    return converted


def _remark_members(step: Mapping[str, Any], converted: Imported, where: str) -> None:
    """Add remarks on the entries of a step, its sources and its sink that are not imported."""
    _remark_not_taken([name for name in step if name not in _OF_STEPS], converted, where)
    for kind, ends in (("sources", step.get("sources", [])), ("sink", [step.get("sink")])):
        members = [name for end in ends if isinstance(end, Mapping) for name in end]
        _remark_not_taken([name for name in members if name not in {"path", "name"}], converted, f"{where}{kind}.")


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)
