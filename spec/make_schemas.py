"""Writes footer.schema.json and manifest.schema.json; the one place where they are edited."""

import json
from pathlib import Path

HERE = Path(__file__).parent
HEX16, HEX32 = {"type": "string", "pattern": "^[0-9a-f]{16}$"}, {"type": "string", "pattern": "^[0-9a-f]{32}$"}
UINT = {"type": "integer", "minimum": 0, "maximum": 2**64 - 1}
TEXT = {"type": "string"}
BASE64 = {
    "type": "string",
    "contentEncoding": "base64",
    "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
}


def features(*known: str) -> dict:
    """A list of features that a reader must know."""
    return {"type": "array", "items": {"enum": known}, "uniqueItems": True, "description": "See versions.md."}


def component(suffix: str) -> dict:
    """A plain file name found in a file."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": r"^[^/\\\u0000-\u0020][^/\\\u0000-\u001f]*" + suffix + "$",
        "not": {"enum": [".", ".."]},
        "description": "See limits.md, names found in files.",
    }


def record(properties: dict, optional: tuple[str, ...] = (), **more: object) -> dict:
    """An object whose properties are required unless named optional; further members are allowed."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, **more}


INT_TYPES = [f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)]
KINDS = [
    "null",
    "bool",
    "int",
    "float",
    "str",
    "list",
    "dict",
    "bytes",
    "ndarray",
    "tensor",
    "np",
    *INT_TYPES,
    "float32",
    "float64",
]
ARRAY = {"oneOf": [{"$ref": "#/$defs/pointer"}, {"$ref": "#/$defs/inline"}]}
REF = {"$ref": "#/$defs/array"}

TIMES = [f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")]
COLUMN = record(
    {
        "path": {"type": "array", "items": TEXT, "minItems": 1},
        "kind": {"enum": ["value", "length"]},
        "dtype": {"enum": ["bool", *INT_TYPES, "float64", "utf8"]},
        "rows": UINT,
        "validity": REF,
        "data": REF,
        "offsets": REF,
    },
    optional=("validity", "offsets"),
    allOf=[
        {
            "if": {"properties": {"dtype": {"const": "utf8"}}},
            "then": {"required": ["offsets"]},
            "else": {"not": {"required": ["offsets"]}},
        },
        {"if": {"properties": {"kind": {"const": "length"}}}, "then": {"properties": {"dtype": {"enum": INT_TYPES}}}},
    ],
)
OWN = record(
    {
        "path": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 1},
        "kind": {"const": "value"},
        "dtype": {"enum": ["bool", *INT_TYPES, "float16", "float32", "float64", *TIMES, "utf8"]},
        "rows": {**UINT, "minimum": 1},
        "width": {"type": "integer", "minimum": 1, "maximum": 1 << 20},
        "nulls": {**UINT, "minimum": 1},
        "zone": {"type": "string", "pattern": "^[!-~]{1,64}$"},
        "entries": {"type": "integer", "minimum": 1, "maximum": 1 << 31},
        "validity": REF,
        "data": REF,
        "offsets": REF,
        "codes": REF,
    },
    optional=("width", "nulls", "zone", "entries", "validity", "offsets", "codes"),
    dependentRequired={"nulls": ["validity"], "validity": ["nulls"], "entries": ["codes"], "codes": ["entries"]},
    allOf=[
        {
            "if": {"properties": {"dtype": {"const": "utf8"}}},
            "then": {"required": ["offsets"]},
            "else": {"not": {"required": ["offsets"]}},
        },
        {
            "if": {"required": ["width"]},
            "then": {"properties": {"dtype": {"not": {"enum": ["bool", "utf8", *TIMES]}}}},
        },
        {"if": {"required": ["codes"]}, "then": {"properties": {"dtype": {"const": "utf8"}}}},
        {"if": {"required": ["zone"]}, "then": {"properties": {"dtype": {"enum": TIMES}}}},
    ],
)
FIELD = record(
    {
        "path": {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1},
        "kinds": {"type": "object", "propertyNames": {"enum": KINDS}, "additionalProperties": UINT},
        "coded": {**UINT, "minimum": 1},
        "quoted": {**UINT, "minimum": 1},
        "bytes": UINT,
        "decoded": UINT,
        "open": {"const": True},
        "media": record({"type": {"enum": ["Image", "Audio", "Video"]}, "mime": TEXT}, optional=("mime",)),
        "feature": {"type": "object"},
    },
    optional=("coded", "quoted", "bytes", "decoded", "open", "media", "feature"),
    dependentRequired={"bytes": ["coded"], "decoded": ["coded"]},
)
PATH = {"type": "string", "minLength": 1, "maxLength": 4096, "description": "See limits.md, names found in files."}
LINES = ["index", "content"]
BASE = record(
    {
        "path": {**PATH, "pattern": r"^[^/\u0000-\u001f][^\u0000-\u001f]*$"},
        "hint": {**PATH, "pattern": r"^/[^\u0000-\u001f]*$"},
        "location": {**PATH, "pattern": r"^(s3|gs|az|https|hf|file)://[^/@?#\s\\]*(/[^?#\s\\]*)?$"},
        "version": {"type": "string", "pattern": "^[!-~]{1,256}$"},
        "kind": {"enum": ["pair", "directory", "mds", "jsonl"]},
        "id": TEXT,
        "num_samples": UINT,
        "shards": UINT,
        "index": REF,
        "content": HEX32,
        "markers": {"const": True},
    },
    optional=("path", "hint", "location", "version", "shards", *LINES, "markers"),
    dependentRequired={"path": ["hint"], "hint": ["path"], "version": ["location"]},
    anyOf=[{"required": ["path"]}, {"required": ["location"]}],
    allOf=[
        {
            "if": {"properties": {"kind": {"const": "jsonl"}}},
            "then": {"required": LINES, "properties": {"id": {"pattern": "^[0-9]+--?[0-9]+$"}}},
            "else": {
                "not": {"anyOf": [{"required": [name]} for name in (*LINES, "markers")]},
                "if": {"properties": {"kind": {"const": "mds"}}},
                "then": {"properties": {"id": HEX16}},
                "else": {"properties": {"id": HEX32}},
            },
        },
        {
            "if": {"properties": {"kind": {"const": "directory"}}},
            "then": {"required": ["shards"]},
            "else": {"not": {"required": ["shards"]}},
        },
    ],
)
FOOTER = record(
    {
        "num_samples": UINT,
        "shard_id": {"type": "integer", "minimum": -1},
        "version": {"type": "string", "pattern": r"^1\.(0|[1-9][0-9]*)$"},
        "encoding": {"enum": ["a85", "b64", "hex"]},
        "binary_threshold": {"anyOf": [UINT, {"type": "null"}]},
        "compression": {"type": ["string", "null"]},
        "index_compression": {"type": ["string", "null"]},
        "compress_threshold": UINT,
        "compress_ratio": {"type": "number"},
        "ext_sep": {"const": "."},
        "split": TEXT,
        "features_required": features("view", "own_columns"),
        "writer": TEXT,
        "id": HEX32,
        "sidecar": {"anyOf": [{"type": "null"}, record({"name": component(""), "length": {**UINT, "minimum": 64}})]},
        "line_hash": REF,
        "rows": UINT,
        "base": {"type": "array", "items": {"$ref": "#/$defs/base"}, "minItems": 1, "maxItems": 300_000},
        "positions": REF,
        "drop": {"type": "array", "items": TEXT, "uniqueItems": True},
        "own": {"type": "array", "items": {"$ref": "#/$defs/own"}, "minItems": 1},
        "fields": {"type": "array", "items": {"$ref": "#/$defs/field"}},
        "arrow_schema": BASE64,
        "columns": {"type": "array", "items": {"$ref": "#/$defs/column"}},
        "meta": {"type": "object"},
        "digest": HEX16,
    },
    optional=(
        "shard_id",
        "binary_threshold",
        "compression",
        "index_compression",
        "compress_threshold",
        "compress_ratio",
        "split",
        "writer",
        "rows",
        "base",
        "positions",
        "drop",
        "own",
        "arrow_schema",
        "meta",
    ),
)


def index(mark: str) -> list[dict]:
    """The two forms of the index."""
    return [
        {"required": [f"index.npy.zst{mark}"], "properties": {f"index.npy.zst{mark}": TEXT}},
        {"required": [f"index.npy.bin{mark}"], "properties": {f"index.npy.bin{mark}": {"$ref": "#/$defs/pointer"}}},
    ]


FOOTER |= {
    "if": {"properties": {"features_required": {"contains": {"const": "view"}}}},
    "then": {"required": ["rows", "base"], "oneOf": index(".view")},
    "else": {"oneOf": index("")},
}
FOOTER["$defs"] = {
    "pointer": record(
        {
            "offset": {**UINT, "minimum": 64},
            "length": UINT,
            "x": HEX16,
            "chunk": {**UINT, "minimum": 8, "multipleOf": 8},
            "xs": {"$ref": "#/$defs/inline"},
        },
        optional=("chunk", "xs"),
        dependentRequired={"chunk": ["xs"], "xs": ["chunk"]},
    ),
    "inline": record({"data": BASE64, "length": UINT, "x": HEX16}),
    "array": ARRAY,
    "base": BASE,
    "column": COLUMN,
    "own": OWN,
    "field": FIELD,
}
MANIFEST = record(
    {
        "format": {"const": "jinx"},
        "version": {"type": "string", "pattern": r"^1\.[1-9][0-9]*$"},
        "generation": {**UINT, "minimum": 1},
        "features_required": features("view"),
        "split": {"type": ["string", "null"]},
        "num_samples": UINT,
        "shards": {
            "type": "array",
            "items": record(
                {"name": component(r"\.jinx"), "samples": UINT, "bytes": UINT, "sidecar_bytes": UINT, "id": HEX32}
            ),
        },
        "meta": {"type": "object"},
        "digest": HEX16,
    },
    optional=("meta",),
)


def main() -> None:
    """Writes both files next to this script."""
    for name, title, schema in (
        ("footer", "Footer of a JINX 1.1 main file", FOOTER),
        ("manifest", "Manifest of a JINX 1.1 directory", MANIFEST),
    ):
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
        (HERE / f"{name}.schema.json").write_text(json.dumps({**head, **schema}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
