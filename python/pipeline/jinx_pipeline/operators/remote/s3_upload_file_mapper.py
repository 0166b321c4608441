"""Uploads files to S3: the operator `s3_upload_file_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.remote.s3_access import S3Access
from jinx_pipeline.operators.remote.transfers import Transfers, like, listed
from jinx_pipeline.sample.remote.body import TransferError
from jinx_pipeline.sample.remote.s3_source import S3Source, is_s3
from jinx_pipeline.sample.roles import Roles


@register("s3_upload_file_mapper")
class S3UploadFileMapper(S3Access, Transfers):
    """Uploads the files whose paths are in a field to S3, and replaces the paths by URLs (`s3://bucket/key`).

    The key is the prefix and the name of the file. An object that is there already stays if it has the same size and,
    as far as the service tells it, the same MD5; otherwise it is an error, so that files of the same name in several
    directories do not replace each other. URLs of objects stay.

        create("s3_upload_file_mapper", upload_field="path", s3_bucket="data", s3_prefix="videos/")

    Needs obstore (the extra `remote`). Credentials come from the environment.

    Attributes:
        upload_field: The column with a path, or a list of paths, below the media root.
        s3_bucket: The bucket.
        s3_prefix: What precedes the name of the file in the key, with or without a slash at its end.
        remove_local: Delete a file after its upload.
        skip_existing: False uploads files also if there is an object, which is then replaced.
        timeout: Seconds that the service may take for an answer.
    """

    upload_field: Annotated[str, NotEmpty()]
    s3_bucket: Annotated[str, NotEmpty()]
    s3_prefix: str = ""
    remove_local: bool = False
    skip_existing: bool = True
    timeout: Annotated[float, Range(0.001, 86_400)] = 30

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.upload_field,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.upload_field,)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # each request has its own time limit
        values = batch.column(self.upload_field)
        paths = [listed(value, self.upload_field) for value in values]
        source = S3Source(self.options(self.timeout))
        flat = [path for some in paths for path in some]
        urls = iter(self.transferred(flat, lambda path: self._uploaded(path, source, batch.roles)))
        samples = batch.samples()
        return {
            self.upload_field: [
                like(value, [next(urls) for _ in some]) if self.upload_field in sample else REMOVED
                for value, some, sample in zip(values, paths, samples, strict=True)
            ]
        }

    def _uploaded(self, text: str, source: S3Source, roles: Roles) -> str:
        if is_s3(text):
            return text
        file = roles.media_path(text)
        prefix = self.s3_prefix.rstrip("/") + "/" if self.s3_prefix else ""
        url = f"s3://{self.s3_bucket}/{prefix}{file.name}"
        if not file.exists() and self.remove_local and source.exists(url):
            return url  # already uploaded by an earlier attempt
        if not file.is_file():
            raise TransferError(f"{text}: not a regular file")
        source.upload(file, url, skip_existing=self.skip_existing)
        if self.remove_local:
            file.unlink()
        return url
