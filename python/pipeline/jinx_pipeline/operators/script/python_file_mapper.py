"""Runs user code from a file: the operator `python_file_mapper`."""

import ast
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from symtable import symtable
from typing import Any, ClassVar

from jinx._suggest import hint
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import ChangedFileError, module_of_file, register
from jinx_pipeline.operators.script.script_splitter import ScriptSplitter


@register("python_file_mapper")
class PythonFileMapper(ScriptSplitter):
    """Runs a function of a Python file on each sample, or on a batch of them.

        create("python_file_mapper", file_path="mine.py", function_name="shorten")

    The function takes a sample and returns it, another dict, None to drop it, or a list of samples. The file is run
    on every worker: only use files that you trust.

    Attributes:
        file_path: The Python file.
        function_name: The function in it.
        batched: The function takes and returns a dict of columns, with a value for each sample in the batch.
    """

    file_path: Path
    function_name: str = "process_single"
    batched: bool = False

    trust = "runs code"
    # The digest of the file when the run was last compared with its plan, and the one that workers expect.
    _digested: ClassVar[str] = ""
    _expected: ClassVar[str] = ""

    def resolve(self) -> None:
        if not self.file_path.is_file():
            raise ParameterError(self.name, "file_path", f"file_path: {self.file_path} is not a file")
        try:
            names = _names_of(self.file_path)
        except (SyntaxError, ValueError) as error:
            problem = f"file_path: {self.file_path} is not Python: {type(error).__name__}: {error}"
            raise ParameterError(self.name, "file_path", problem) from None
        if names is not None and self.function_name not in names:
            problem = f"{self.file_path} has no function {self.function_name!r}{hint(self.function_name, names)}"
            raise ParameterError(self.name, "function_name", problem)
        if _is_stub(self.file_path, self.function_name):
            problem = f"{self.function_name} in {self.file_path} only raises NotImplementedError; write the function"
            raise ParameterError(self.name, "file_path", problem)

    @property
    def digest(self) -> str:
        self._digested = _content_of(self.file_path)
        return self._digest_of({**self.parameters, "file_path": self._digested})

    def __getstate__(self) -> dict[str, Any]:
        # The function of `Dataset.filter`: keeps the samples for which a user function returns true.
        return {**self.__dict__, "_expected": self._digested or _content_of(self.file_path)}

    def function_to_run(self) -> Callable[[Any], Any]:
        if self._expected and self.file_path.is_file() and _content_of(self.file_path) != self._expected:
            raise ChangedFileError(str(self.file_path))
        try:
            module = module_of_file(self.file_path.resolve())
        except Exception as error:
            # An ImportError, so that the error counts for all rows.
            raise ImportError(f"{self.file_path} cannot be loaded: {type(error).__name__}: {error}") from error
        function = getattr(module, self.function_name, None)
        if not callable(function):
            raise ImportError(f"{self.file_path} has no function {self.function_name!r}")  # noqa: TRY004 - as above
        return function

    def takes_columns(self) -> bool:
        return self.batched


def _content_of(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def _is_stub(file: Path, name: str) -> bool:
    """Whether a function is still the stub that `import-recipe` wrote, which raises NotImplementedError."""
    functions = [node for node in ast.parse(file.read_bytes()).body if isinstance(node, ast.FunctionDef)]
    bodies = [function.body for function in functions if function.name == name]
    if not bodies or not isinstance(bodies[-1][-1], ast.Raise):
        return False
    *before, raised = bodies[-1]
    exception = raised.exc.func if isinstance(raised.exc, ast.Call) else raised.exc
    is_documented_only = all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in before)
    return is_documented_only and isinstance(exception, ast.Name) and exception.id == "NotImplementedError"


def _names_of(file: Path) -> set[str] | None:
    """The names that a file defines, without running it; None if it imports names with `*`.

    Raises:
        SyntaxError: It is not Python.
        ValueError: It has bytes that Python cannot read.
    """
    text = file.read_bytes()
    tree = ast.parse(text, str(file))
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return None
    table = symtable(text.decode("utf-8", "surrogateescape"), str(file), "exec")
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
