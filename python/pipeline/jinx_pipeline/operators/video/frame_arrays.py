"""Arrays of the frames of a video, as a file that `numpy.load` reads."""

from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt


def write_frame_arrays(file: IO[bytes], arrays: "Iterable[npt.NDArray[Any]]") -> int:
    """Write an array for each frame as it is made, named `00000`, `00001` and so on; returns their number."""
    count = 0
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for array in arrays:
            with archive.open(f"{count:05}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
            count += 1
    return count
