"""Downloads over HTTP and S3, uploads to S3, against local servers."""

import hashlib
import json
import socket
from pathlib import Path

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.remote.transfers import file_name
from jinx_pipeline.sample.remote import http_source
from pipeline.sample.servers import running

CONTENT = bytes(range(256)) * 4000
LOCAL = {"private_hosts": ["127.0.0.1"]}


@pytest.fixture
def server():
    with running() as server:
        server.files |= {"/a/x.png": CONTENT, "/b/x.png": b"other", "/empty": b""}
        yield server


def download(**parameters) -> jp.Operator:
    return jp.create("download_file_mapper", download_field="url", **{**LOCAL, **parameters})


def test_contents_and_files(server, tmp_path):
    urls = [f"{server.url}/a/x.png", f"{server.url}/b/x.png"]
    samples = [{"url": urls[0]}, {"url": urls}, {"url": None}, {"url": []}, {"url": ["", urls[1]]}]
    made = download()(samples)
    contents = [sample["image_bytes"] for sample in made]
    assert contents == [CONTENT, [CONTENT, b"other"], None, [], [None, b"other"]]
    assert [sample["url"] for sample in made] == [sample["url"] for sample in samples]
    made = download(save_dir=str(tmp_path), save_field="data")(samples)
    first, second = made[1]["url"]
    assert Path(first).read_bytes() == CONTENT == made[0]["data"]
    assert Path(second).read_bytes() == b"other"
    assert Path(first).name == file_name(urls[0]) != file_name(urls[1]) == Path(second).name
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([Path(first).name, Path(second).name])


def test_equal_urls_are_downloaded_once(server):
    url = f"{server.url}/b/x.png"
    download()([{"url": url}, {"url": [url, url]}])
    assert len(server.log) == 1


def test_paths_stay(server, tmp_path):
    (tmp_path / "a").write_bytes(b"local")
    path = str(tmp_path / "a")
    (made,) = download(save_field="data", save_dir=str(tmp_path))([{"url": [path, f"{server.url}/empty"]}])
    assert made["url"][0] == path
    assert made["data"] == [b"local", b""]


@pytest.mark.parametrize("faults", [["cut"], [503], [429, "cut"], ["cut", "cut"]])
@pytest.mark.parametrize("is_saved", [True, False])
def test_broken_answers_are_continued(server, tmp_path, faults, is_saved):
    server.faults["/a/x.png"] = list(faults)
    parameters = {"save_dir": str(tmp_path)} if is_saved else {}
    (made,) = download(**parameters)([{"url": f"{server.url}/a/x.png"}])
    assert (Path(made["url"]).read_bytes() if is_saved else made["image_bytes"]) == CONTENT
    assert len(server.log) == len(faults) + 1
    if "cut" in faults:
        assert server.log[-1][2].startswith("bytes=")


def test_without_a_validator_a_download_starts_again(server):
    server.has_tags = False
    server.faults["/a/x.png"] = ["cut"]
    (made,) = download()([{"url": f"{server.url}/a/x.png"}])
    assert made["image_bytes"] == CONTENT
    assert not any(wanted for _, _, wanted in server.log)


def test_a_later_run_goes_on_where_one_stopped(server, tmp_path):
    url = f"{server.url}/a/x.png"
    server.faults["/a/x.png"] = ["cut", 503, 503]
    with pytest.raises(ValueError, match="status 503"):
        download(save_dir=str(tmp_path))([{"url": url}])
    (part,) = tmp_path.glob(".*.part")
    held = part.stat().st_size
    assert 0 < held < len(CONTENT)
    (made,) = download(save_dir=str(tmp_path))([{"url": url}])
    assert Path(made["url"]).read_bytes() == CONTENT
    assert server.log[-1][2] == f"bytes={held}-"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_changed_meanwhile_is_downloaded_whole(server, tmp_path):
    url = f"{server.url}/a/x.png"
    server.faults["/a/x.png"] = ["cut", 503, 503]
    with pytest.raises(ValueError, match="503"):
        download(save_dir=str(tmp_path))([{"url": url}])
    server.files["/a/x.png"] = CONTENT[::-1]
    (made,) = download(save_dir=str(tmp_path))([{"url": url}])
    assert Path(made["url"]).read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("note", ["", "{}", "[1]", '{"validator": 5}', '{"validator": "wrong"}'])
def test_leftovers_that_do_not_fit(server, tmp_path, note):
    url = f"{server.url}/a/x.png"
    (tmp_path / f".{file_name(url)}.part").write_bytes(CONTENT + b"more")
    (tmp_path / f".{file_name(url)}.part.json").write_text(note)
    (made,) = download(save_dir=str(tmp_path))([{"url": url}])
    assert Path(made["url"]).read_bytes() == CONTENT


def test_what_is_there_is_kept_if_wanted(server, tmp_path):
    url = f"{server.url}/a/x.png"
    for resume, requests in ((True, 1), (True, 1), (False, 2)):
        download(save_dir=str(tmp_path), resume_download=resume)([{"url": url}])
        assert len(server.log) == requests
    (made,) = download(save_field="data", resume_download=True)([{"url": url, "data": b"known"}])
    assert made["data"] == b"known"
    assert len(server.log) == 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("{server}/none", "status 404"),
        ("{server}/secret?signature=abc", r"/secret\?\.\.\.: status 404"),
        ("http://user:pw@127.0.0.1/x", "a user or password"),
        ("http://127.0.0.1:99999/x", "not a URL"),
        ("http:///x", "not an http"),
        ("http://no-such-host.invalid/", "no-such-host"),
        ("{server}/loop", "more than 5 redirections"),
        ("{server}/file", "not an http"),
    ],
)
def test_errors_name_the_url_without_secrets(server, url, message):
    server.moved |= {"/loop": "/loop", "/file": "file:///etc/passwd"}
    with pytest.raises(ValueError, match=message) as raised:
        download()([{"url": url.format(server=server.url)}])
    assert "abc" not in str(raised.value)
    assert "pw@" not in str(raised.value)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]"]
)
def test_private_hosts_are_refused(server, host):
    with pytest.raises(ValueError, match="private address"):
        download(private_hosts=[])([{"url": f"http://{host}:{server.server_port}/a/x.png"}])
    assert not server.log


def test_private_hosts_behind_redirections_and_names_are_refused(server, monkeypatch):
    server.moved["/away"] = f"http://localhost:{server.server_port}/a/x.png"
    with pytest.raises(ValueError, match="localhost has the private address"):
        download()([{"url": f"{server.url}/away"}])
    real = socket.getaddrinfo

    def poisoned(host, *args, **kwargs):
        return real("127.0.0.1" if host == "public.example" else host, *args, **kwargs)

    monkeypatch.setattr(http_source.socket, "getaddrinfo", poisoned)
    with pytest.raises(ValueError, match=r"public\.example has the private address"):
        download()([{"url": f"http://public.example:{server.server_port}/a/x.png"}])
    assert [path for _, path, _ in server.log] == ["/away"]


def test_a_redirection_from_https_to_http_is_refused():
    with pytest.raises(ValueError, match="from https to http"):
        http_source._check("http://example.org/", is_secure=True)


def test_limits(server, tmp_path):
    url = f"{server.url}/a/x.png"
    with pytest.raises(ValueError, match=r"1,024,000 bytes; at most 1,000"):
        download(max_bytes=1000, save_dir=str(tmp_path))([{"url": url}])
    assert not list(tmp_path.iterdir())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(ValueError, match=r"(?i)timed? ?out|ReadTimeout"):
            download(timeout=0.1)([{"url": url}])


def test_a_failed_file_leaves_out_its_sample_alone(server, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jinx"
    urls = [f"{server.url}/{name}" for name in ("b/x.png", "none", "a/x.png", "empty")]
    source.write_text("".join(json.dumps({"url": url}) + "\n" for url in urls), "utf-8")
    step = {"download_file_mapper": {"download_field": "url", **LOCAL}}
    with pytest.warns(jp.BadRowsWarning, match="status 404"):
        result = jp.Dataset.load(str(source)).process([step]).export(str(out), workers=1)
    assert result.rows_out == 3
    assert [path for _, path, _ in server.log].count("/a/x.png") == 1


def test_file_names():
    for url in ("http://x/..%2F..%2Fetc", "http://x/", "http://x/a%00b.png", f"http://x/{'a' * 400}.tar.gz"):
        name = file_name(url)
        assert "/" not in name
        assert not name.startswith(".")
        assert len(name) < 140
        assert "\0" not in name
    assert file_name("http://x/a.png").endswith(".png")


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("download_file_mapper", {}, "download_field"),
        ("download_file_mapper", {"download_field": "u", "save_field": "u"}, "column of the URLs"),
        (
            "s3_download_file_mapper",
            {"download_field": "u", "aws_secret_access_key": "hunter2"},
            "environment variable",
        ),
        ("s3_upload_file_mapper", {"upload_field": "u"}, "s3_bucket"),
    ],
)
def test_wrong_parameters(name, parameters, message):
    with pytest.raises(jp.ParameterError, match=message) as raised:
        jp.create(name, **parameters)
    assert "hunter2" not in str(raised.value)


@pytest.fixture
def s3(server, monkeypatch):
    pytest.importorskip("obstore")
    monkeypatch.setenv("TEST_ID", "an-id")
    monkeypatch.setenv("TEST_KEY", "a-key")
    server.files = {"/bucket/v/x.png": CONTENT}
    return {
        "endpoint_url": server.url,
        "aws_region": "us-east-1",
        "aws_access_key_id": "$TEST_ID",
        "aws_secret_access_key": "${TEST_KEY}",
    }


def test_objects(server, s3, tmp_path):
    fetch = jp.create("s3_download_file_mapper", download_field="url", save_dir=str(tmp_path), save_field="data", **s3)
    (made,) = fetch([{"url": ["s3://bucket/v/x.png"]}])
    assert made["data"] == [CONTENT] == [Path(made["url"][0]).read_bytes()]
    for url, message in [
        ("s3://bucket/none", "no such object"),
        ("s3://bucket", "write s3://bucket/key"),
        ("http://x/y", "use download_file_mapper"),
    ]:
        with pytest.raises(ValueError, match=message):
            fetch([{"url": url}])


def test_objects_are_continued(server, s3, tmp_path):
    fetch = jp.create("s3_download_file_mapper", download_field="url", save_dir=str(tmp_path), **s3)
    url = "s3://bucket/v/x.png"
    part = tmp_path / f".{file_name(url)}.part"
    part.write_bytes(CONTENT[:1000])
    fetch([{"url": url}])
    (_, _, wanted) = server.log[-1]
    assert wanted == ""
    tag = f'"{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}"'
    for content, expected in ((CONTENT[:1000], "bytes=1000-"), (CONTENT, "")):
        part.write_bytes(content)
        Path(f"{part}.json").write_text(json.dumps({"validator": tag}))
        (made,) = fetch([{"url": url}])
        assert Path(made["url"]).read_bytes() == CONTENT
        assert server.log[-1][2] == expected


def test_uploads(server, s3, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.png").write_bytes(CONTENT)
    (tmp_path / "new.png").write_bytes(b"new")
    upload = jp.create("s3_upload_file_mapper", upload_field="path", s3_bucket="bucket", s3_prefix="v", **s3)
    samples = [
        {"path": [str(tmp_path / "a" / "x.png"), str(tmp_path / "new.png")]},
        {"path": "s3://o/k"},
        {"path": None},
    ]
    made = upload(samples)
    assert [sample["path"] for sample in made] == [["s3://bucket/v/x.png", "s3://bucket/v/new.png"], "s3://o/k", None]
    assert [path for method, path, _ in server.log if method == "PUT"] == ["/bucket/v/new.png"]
    assert server.files["/bucket/v/new.png"] == b"new"
    (tmp_path / "x.png").write_bytes(CONTENT[::-1])
    with pytest.raises(ValueError, match="another object"):
        upload([{"path": str(tmp_path / "x.png")}])
    with pytest.raises(ValueError, match="not a regular file"):
        upload([{"path": str(tmp_path)}])
    parameters = {"upload_field": "path", "s3_bucket": "bucket", "skip_existing": False, "remove_local": True, **s3}
    replace = jp.create("s3_upload_file_mapper", s3_prefix="v/", **parameters)
    replace([{"path": str(tmp_path / "x.png")}])
    assert server.files["/bucket/v/x.png"] == CONTENT[::-1]
    assert not (tmp_path / "x.png").exists()
    assert replace([{"path": str(tmp_path / "x.png")}]) == [{"path": "s3://bucket/v/x.png"}]


def test_uploads_stay_below_the_media_root(s3, tmp_path):
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "root").mkdir()
    upload = jp.create("s3_upload_file_mapper", upload_field="path", s3_bucket="bucket", **s3)
    with pytest.raises(ValueError, match="leads out of the media root"):
        upload([{"path": "../secret"}], roles=jp.Roles(media_root=str(tmp_path / "root")))


def test_a_missing_variable_is_an_error(s3, monkeypatch):
    monkeypatch.delenv("TEST_KEY")
    fetch = jp.create("s3_download_file_mapper", download_field="url", **{**s3, "aws_region": "other"})
    with pytest.raises(ValueError, match="TEST_KEY is not set"):
        fetch([{"url": "s3://bucket/v/x.png"}])
