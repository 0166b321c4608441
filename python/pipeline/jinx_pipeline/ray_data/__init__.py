"""JINX in Ray Data: a source, a sink, and references that stand for media.

from jinx_pipeline.ray_data import JinxDatasink, JinxDatasource, load_blobs

ds = ray.data.read_datasource(JinxDatasource("/shared/in.jinx", blobs="references"))
ds = ds.map_batches(jp.ops.TextLengthFilter(min_len=10)).random_shuffle()
ds.map_batches(load_blobs, fn_kwargs={"columns": ["image"]}).write_datasink(JinxDatasink("/shared/out.jinx"))
"""

from jinx_pipeline.ray_data.sink import JinxDatasink
from jinx_pipeline.ray_data.source import JinxDatasource, load_blobs

__all__ = ["JinxDatasink", "JinxDatasource", "load_blobs"]
