"""Operators whose tasks die once for each look, or of which one waits until its node dies."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from jinx_pipeline import register
from jinx_pipeline.operators import operator_class


def mortal(name):
    cls = operator_class(name)

    class Mortal(cls):
        __doc__ = cls.__doc__
        marker: str = ""
        hold: str = ""

        @property
        def digest(self):
            """That of the operator: who dies, or is held, changes no row."""
            parameters = {name: value for name, value in self.parameters.items() if name not in {"marker", "hold"}}
            return cls(**parameters).digest

        def look(self, keys, look):
            hold = Path(f"{self.hold}.{self.name}")
            if self.hold:
                with suppress(FileNotFoundError):  # another operator is held, or another worker of this one
                    hold.rename(f"{self.hold}.{os.getppid()}")
                    time.sleep(300)
            if self.marker:
                file = Path(f"{self.marker}.{self.name}.{look}")
                if not file.exists():
                    file.touch()
                    if file.with_name("driver").exists():
                        file.with_name("driver").unlink()
                        os.kill(os.getppid(), signal.SIGKILL)
                    os.kill(os.getpid(), signal.SIGKILL)
            return super().look(keys, look)

    Mortal.__qualname__ = Mortal.__name__ = f"Mortal{cls.__name__}"
    globals()[Mortal.__name__] = register(f"mortal_{name}")(Mortal)


NAMES = (
    "sort",
    "join",
    "document_deduplicator",
    "document_minhash_deduplicator",
    "document_line_deduplicator",
    "key_value_grouper",
    "topk_specified_field_selector",
    "range_specified_field_selector",
    "frequency_specified_field_selector",
)
for item in NAMES:
    mortal(item)
