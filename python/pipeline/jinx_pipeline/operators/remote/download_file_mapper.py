"""Downloads files over HTTP: the operator `download_file_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.remote.transfers import Downloads
from jinx_pipeline.sample.remote.http_source import HttpSource, is_http


@register("download_file_mapper")
class DownloadFileMapper(Downloads):
    """Downloads the files whose URLs are in a field, into a directory or into the samples.

    A download that stopped goes on where it was, if the server can do that and the file is the same. A sample with a
    file that cannot be downloaded is an error; other samples of its batch are not downloaded again. (Data-Juicer keeps
    the URL, and writes URLs with the same last part to one file.)

        create("download_file_mapper", download_field="url", save_dir="path")

    Hosts with private addresses are refused, also behind redirections, unless `private_hosts` names them. URLs with a
    user or password are refused.

    Attributes:
        private_hosts: Hosts that may have private addresses, such as `localhost`.
    """

    private_hosts: tuple[str, ...] = ()

    def source(self) -> HttpSource:
        return HttpSource(self.timeout, self.private_hosts)

    def is_url(self, text: str) -> bool:
        return is_http(text)
