"""Imports optional packages, which only some operators need."""

from functools import partial

from jinx._optional import require as _require

require = partial(_require, distribution="jinx-pipeline")
"""Import an optional package; see `jinx._optional.require`. The extra is an extra of `jinx-pipeline`."""
