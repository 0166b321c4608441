"""What the page shows of a run: cases grouped by use, and the systems under the names that people know."""

from dataclasses import dataclass

from bench.results import Results

# In the order of the page. A system that is not named here is in the tables alone.
SYSTEMS = {
    "jinx": "JINX",
    "jinx-loader": "JINX, `jinx.torch.Loader`",
    "jinx-references": "JINX, `jinx.torch.References`",
    "ref": "Reference (`ref`)",
    "datasets": "Hugging Face datasets",
    "parquet": "Parquet",
    "lance": "Lance",
    "array_record": "ArrayRecord",
    "webdataset": "WebDataset",
    "streaming": "MosaicML Streaming",
    "litdata": "LitData",
    "mldf-jinx-lazy": "MLDataForge JINX",
    "mldf-mds-ram": "MLDataForge MDS",
    "msgpack": "MessagePack",
    "jsonl": "JSON lines",
    "cp": "`cp` of the Parquet file",
}
COMPRESSED = {
    "ref-zstd": "Reference (`ref`), zstd",
    "streaming-zstd": "MosaicML Streaming, zstd",
    "litdata-zstd": "LitData, zstd",
    "mldf-jinx-lazy-zstd": "MLDataForge JINX, zstd",
    "mldf-mds-ram-zstd": "MLDataForge MDS, zstd",
}


@dataclass(frozen=True)
class Use:
    """One table: what somebody does with a dataset, and the cases that measure it, with a heading for each."""

    title: str
    note: str
    cases: dict[str, str]
    compressed: bool = False


READING = (
    Use(
        "Read in order",
        "One pass over the dataset. JINX reads only the columns that are touched.",
        {
            "iterate_nothing": "no column",
            "iterate_field": "`id`",
            "iterate_count": "`id`, number of messages",
            "iterate_all": "all columns",
        },
    ),
    Use(
        "Read at random",
        "Samples in random order, one by one or 64 in one call.",
        {
            "random_field": "`id`",
            "random_messages": "messages",
            "take": "all columns, 64 in one call",
            "random_all": "all columns, one by one",
        },
    ),
    Use(
        "Shuffle, sort and count",
        "Count the messages of every sample; sort by that number, or shuffle, and read the whole dataset.",
        {
            "lengths": "count messages",
            "sort_nothing": "sort, no column",
            "shuffle_nothing": "shuffle, no column",
            "sort_all": "sort, all columns",
            "shuffle_all": "shuffle, all columns",
        },
    ),
    Use(
        "Feed PyTorch",
        "Batches of 64, all columns, from a `DataLoader` with two worker processes; `jinx.torch.Loader` uses threads.",
        {"loader": "bytes", "loader_decode": "JPEG decoded to arrays"},
    ),
    Use(
        "Read files that are not cached",
        "The page cache is emptied of the files before each pass.",
        {"cold_random_all": "at random, one by one", "cold_iterate_all": "in order"},
    ),
    Use(
        "Read raw pixels",
        "Images as raw pixels instead of JPEG. A format that stores them uncompressed reads them faster and needs more"
        " disk; the sizes are [below](#write-raw-pixels-from-parquet).",
        {
            "pixels_random_all": "at random, one by one",
            "pixels_take": "at random, 64 in one call",
            "pixels_loader": "`DataLoader`",
            "pixels_iterate_all": "in order",
        },
        compressed=True,
    ),
)
WRITING = {"write": "Write from Parquet", "pixels_write": "Write raw pixels from Parquet"}


def systems(results: Results, *, compressed: bool = False) -> dict[str, str]:
    """Names by key of the systems that a table has room for, JINX first."""
    named = {**SYSTEMS, **(COMPRESSED if compressed else {})}
    return {key: name for key, name in named.items() if key in results.peers()}
