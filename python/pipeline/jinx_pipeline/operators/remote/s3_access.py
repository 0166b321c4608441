"""The parameters of operators that use S3."""

from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.remote.transfers import check_secret
from jinx_pipeline.sample.remote.s3_source import S3Options


class S3Access(Operator):
    """Connects to S3, or to a service with the same interface.

    Attributes:
        aws_access_key_id: The environment variable with the ID of the access key, such as `$MY_ID`; by default
            `AWS_ACCESS_KEY_ID` and the other places where programs look.
        aws_secret_access_key: The environment variable with the access key.
        aws_session_token: The environment variable with the session token.
        aws_region: The region.
        endpoint_url: The URL of another service.
    """

    aws_access_key_id: str | None = None
    aws_secret_access_key: str | None = None
    aws_session_token: str | None = None
    aws_region: str | None = None
    endpoint_url: str | None = None

    def check(self) -> None:
        for name in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token"):
            check_secret(self.name, name, getattr(self, name))
        super().check()

    def options(self, seconds: float) -> S3Options:
        """The options for connecting to S3."""
        return S3Options(
            self.aws_region,
            self.endpoint_url,
            self.aws_access_key_id,
            self.aws_secret_access_key,
            self.aws_session_token,
            seconds,
        )
