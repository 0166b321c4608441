"""What services ask for that are busy."""

import pytest

from jinx_pipeline.operators.api.retry_after import seconds_to_wait
from jinx_pipeline.serving import requested_wait


class RefusedError(Exception):
    """As a web framework raises it."""

    def __init__(self, retry_after):
        super().__init__("too many requests")
        self.status_code = 429
        self.headers = {"Retry-After": retry_after}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2),
        (7, 7),
        ("0", 0.5),
        ("-3", 0.5),
        ("inf", 600),
        ("86400", 600),
        ("nan", 5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 5),
        ("", 5),
        (None, 5),
        pytest.param(10**400, 5, id="huge"),
    ],
)
def test_no_pause_is_endless_and_none_is_left_out(header, seconds):
    assert seconds_to_wait(header) == seconds
    assert requested_wait(RefusedError(header)) == seconds
