"""Downloads objects from S3: the operator `s3_download_file_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.remote.s3_access import S3Access
from jinx_pipeline.operators.remote.transfers import Downloads
from jinx_pipeline.sample.remote.body import TransferError, shown
from jinx_pipeline.sample.remote.http_source import is_http
from jinx_pipeline.sample.remote.s3_source import S3Source, is_s3


@register("s3_download_file_mapper")
class S3DownloadFileMapper(S3Access, Downloads):
    """Downloads the objects whose URLs (`s3://bucket/key`) are in a field, into a directory or into the samples.

    A download that stopped goes on where it was, if the object is the same. A sample with an object that cannot be
    downloaded is an error.

        create("s3_download_file_mapper", download_field="video", save_dir="path")

    Needs obstore (the extra `remote`). Credentials come from the environment.
    """

    def source(self) -> S3Source:
        return S3Source(self.options(self.timeout))

    def is_url(self, text: str) -> bool:
        if is_http(text):
            raise TransferError(f"{shown(text)}: not an object of S3; use download_file_mapper")
        return is_s3(text)
