"""python_file_mapper."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinx_pipeline.operators.parameters import ParameterError
from jinx_pipeline.operators.registry import module_of_file, register
from jinx_pipeline.operators.script.script_splitter import ScriptSplitter


@register("python_file_mapper")
class PythonFileMapper(ScriptSplitter):
    """Runs a function of a Python file on each sample, or on a batch of them.

        create("python_file_mapper", file_path="mine.py", function_name="shorten")

    The function takes a sample and returns it, another dict, None to drop it, or a list of samples. The file is run
    on every
    worker: name only files that you trust.

    Attributes:
        file_path: The Python file.
        function_name: The function in it.
        batched: The function takes and returns a dict of columns, with a value for each sample in the batch.
    """

    file_path: Path
    function_name: str = "process_single"
    batched: bool = False

    def check(self) -> None:
        if not self.file_path.is_file():
            raise ParameterError(self.name, "file_path", f"file_path: {self.file_path} is not a file")

    @property
    def digest(self) -> str:
        source = sha256(self.file_path.read_bytes()).hexdigest()
        return self._digest_of({**self.parameters, "file_path": source})

    def function_to_run(self) -> Callable[[Any], Any]:
        function = getattr(module_of_file(self.file_path.resolve()), self.function_name, None)
        if not callable(function):
            what = f"{self.file_path} has no function {self.function_name!r}"
            raise ParameterError(self.name, "function_name", what)
        return function

    def takes_columns(self) -> bool:
        return self.batched
