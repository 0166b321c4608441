"""What an error of an operator means for its task."""

import math

import pytest

from jinx_pipeline.engines.chain import ThrottledError, raise_if_not_of_rows


class OwnError(Exception):
    def __init__(self, retry_after):
        super().__init__("later")
        self.retry_after = retry_after


@pytest.mark.parametrize(
    ("asked", "given"), [(7, 7), (0.0, 0.5), (-1, 0.5), (math.inf, 600), (math.nan, 5), (1e9, 600)]
)
def test_a_service_is_waited_for_within_bounds(asked, given):
    with pytest.raises(ThrottledError) as caught:
        raise_if_not_of_rows(OwnError(asked))
    assert caught.value.seconds == given


def test_other_errors_are_of_rows():
    raise_if_not_of_rows(OwnError("soon"))
    raise_if_not_of_rows(ValueError("bad"))


def test_a_worker_that_ray_ends_does_not_try_other_rows():
    ended, own = SystemExit(1), SystemExit(1)
    ended.ray_terminate_msg = "The process receives a SIGTERM."
    with pytest.raises(SystemExit):
        raise_if_not_of_rows(ended)
    raise_if_not_of_rows(own)
