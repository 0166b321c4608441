"""The REST interface: a session from search to result, and what it refuses."""

import json
import socket
from urllib.parse import quote, urlsplit

import pytest

import jinx
from service_client import LONG, Client, recipe

pytest.importorskip("starlette", reason="the extra `service`")
# Jobs wait for their processes, which a busy machine starts slowly.
pytestmark = pytest.mark.timeout(300)


def test_a_session_from_search_to_result(serve, tmp_path):
    client = serve()
    found = client.get("/operators?query=drop%20texts%20that%20are%20too%20short&limit=5")["operators"]
    assert "text_length_filter" in [one["name"] for one in found]
    described = client.get("/operators/text_length_filter")
    assert described["schema"]["properties"]["min_len"]["type"] == "integer"
    assert client.get("/datasets")["datasets"] == ["data/in.jinx"]
    about = client.get("/datasets/data/in.jinx")
    assert (about["samples"], about["columns"]) == (300, ["id", "text", "score", "picture"])
    rows = client.get("/datasets/data/in.jinx/rows?where=score%20%3E%3D%200.5&count=2&sort=-score")
    assert (rows["total"], rows["rows"][0]["row"]["id"]) == (150, 299)
    stats = client.get("/datasets/data/in.jinx/stats?columns=score")
    assert stats["kept"] == 300
    status, headers, body = client.raw(
        "GET", f"/v1/datasets/data/in.jinx/media?sample=3&path={quote(json.dumps(['picture']))}"
    )
    assert (status, body) == (200, b"\3" * 10)
    assert "sandbox" in headers["content-security-policy"]

    status, plan = client.ask("POST", "/plans", {"recipe": recipe("good.jinx", LONG), "samples": 50})
    assert (status, plan["reads"], plan["writes"]) == (201, ["data/in.jinx"], ["results/good.jinx"])
    assert plan["dry_run"]["rows_in"] == 50
    assert len(plan["dry_run"]["traces"]) == 5
    status, job = client.ask("POST", "/jobs", {"plan": plan["id"]})
    assert (status, job["state"]) in {(202, "queued"), (202, "running")}
    ended = client.ended(job["id"])
    assert (ended["state"], ended["error"], ended["starts"]) == ("succeeded", None, 1)
    assert ended["result"]["outputs"][0]["path"] == "results/good.jinx"
    assert str(tmp_path) not in json.dumps(ended)
    assert len(jinx.open(tmp_path / "results" / "good.jinx")) == ended["result"]["rows_out"] > 100

    status, headers, events = client.raw("GET", f"/v1/jobs/{job['id']}/events")
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert b'"state": "succeeded"' in events
    assert b'"kind": "block"' in events
    ids = [int(line[4:]) for line in events.splitlines() if line.startswith(b"id: ")]
    _, _, rest = client.raw("GET", f"/v1/jobs/{job['id']}/events", Last_Event_ID=str(ids[1]))
    assert [int(line[4:]) for line in rest.splitlines() if line.startswith(b"id: ")] == ids[2:]
    log = client.get(f"/jobs/{job['id']}/log")
    assert log["ended"]
    assert [line.partition(" UTC ")[2] or line for line in log["text"].splitlines()] == [
        "started",
        "ended",
        f"text_length_filter: 300 in, {ended['result']['rows_out']} out",
        f"results/good.jinx: {ended['result']['rows_out']} of 300 samples, {log['text'].rpartition(', ')[2].strip()}",
    ]
    assert client.get(f"/jobs/{job['id']}/log?offset={2**53}") == {"text": "", "next": log["next"], "ended": True}
    assert client.get(f"/jobs/{job['id']}/quarantine") == {"rows": [], "total": 0}
    status, headers, report = client.raw("GET", f"/v1/jobs/{job['id']}/report")
    assert status == 200
    assert b"results/good.jinx" in report
    assert str(tmp_path).encode() not in report
    assert b"/tmp" not in report  # nor what is left of a path that the graph has cut
    graph = client.raw("GET", f"/v1/plans/{plan['id']}/graph")[2].decode()
    assert graph.startswith("<svg")
    assert ">data/in.jinx<" in graph
    assert "/tmp" not in graph
    assert client.get("/jobs")["total"] == 1


def test_a_recipe_with_mistakes_is_refused_with_their_places(serve):
    client = serve()
    status, answer = client.ask("POST", "/plans", {"recipe": recipe("x.jinx", {"text_lenght_filter": {}})})
    assert (status, answer["code"]) == (422, "bad_recipe")
    (problem,) = answer["problems"]
    assert problem["path"] == "process[0].text_lenght_filter"
    assert "did you mean 'text_length_filter'" in problem["message"]
    status, answer = client.ask("POST", "/plans", {"recipe": "dataset: ["})
    assert (status, answer["code"]) == (422, "bad_recipe")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"python_file_mapper": {"file_path": "data/in.jinx"}}, "runs code"),
        ({"download_file_mapper": {"download_field": "url", "save_field": "x"}}, "connects to servers"),
        ({"human_annotation_mapper": {"question": "?", "choices": ["a", "b"]}}, "connects to servers"),
        ({"human_preference_annotation_mapper": {"webhook": "http://127.0.0.1:9"}}, "connects to servers"),
        ({"image_blur_mapper": {"save_dir": "/tmp/x"}}, "writes files"),
        ({"stopwords_filter": {"stopwords_dir": "/etc"}}, "begins with the name of a root"),
        ({"decontaminate_deduplicator": {"evaluation_paths": ["data/../../etc/passwd"]}}, "not a path"),
        (
            {"imgdiff_difference_area_generator_mapper": {"image_segment_mapper_args": {"model_path": "/etc"}}},
            "image_segment_mapper_args.model_path lies outside of the roots",
        ),
    ],
)
def test_operators_that_reach_further_are_refused(serve, step, message):
    client = serve()
    status, answer = client.ask("POST", "/plans", {"recipe": recipe("x.jinx", step), "samples": 0})
    assert status == 422
    assert message in answer["problems"][0]["message"]
    assert "python_file_mapper" not in json.dumps(client.get("/operators"))


def test_an_operator_is_there_once_it_is_allowed(serve, tmp_path):
    client = serve(allow=("python_file_mapper",))
    (tmp_path / "data" / "mine.py").write_text("def process_single(sample):\n    return sample\n")
    client.plan(recipe("x.jinx", {"python_file_mapper": {"file_path": "data/mine.py"}}))


def test_a_client_names_no_variable_of_the_service(serve):
    client = serve(allow=("human_preference_annotation_mapper",))
    step = {"human_preference_annotation_mapper": {"webhook": "env:SECRET"}}
    status, answer = client.ask("POST", "/plans", {"recipe": recipe("x.jinx", step), "samples": 0})
    assert status == 422
    assert answer["problems"][0]["message"].startswith("webhook names a URL here")


@pytest.mark.parametrize("option", ["answers", "batch", "collect", "key_variable"])
def test_an_allowed_language_model_writes_and_reads_nothing_beside_the_roots(serve, option):
    client = serve(allow=("llm_quality_score_filter",))
    step = {"llm_quality_score_filter": {"model_params": {option: True if option == "collect" else "/tmp/x"}}}
    status, answer = client.ask("POST", "/plans", {"recipe": recipe("x.jinx", step), "samples": 0})
    assert status == 422
    assert answer["problems"][0]["message"].startswith(f"model_params.{option} cannot be set here")


@pytest.mark.parametrize(
    "change",
    [
        {"custom_operators": ["data/x.py"]},
        {"work_dir": "/tmp/x"},
        {"engine": "ray"},
        {"dataset": {"path": "data/in.jinx", "media_outside": True}},
        {"dataset": {"path": "data/in.jinx", "url_hosts": ["evil.test"]}},
        {"dataset": {"path": "data/in.jinx", "media_root": "/etc"}},
        {"dataset": {"sources": [{"database": "x.db", "query": "select 1", "columns": {"a": "int"}}]}},
        {"dataset": "https://evil.test/x.jsonl"},
        {"dataset": "data/*.jinx"},
        {"dataset": "results/../state/token"},
        {"export": {"path": "data/x.jinx"}},
        {"export": {"path": "/tmp/x.jinx"}},
        {"export": {"path": "results/x.jinx", "overwrite": True}},
        {"export": None},
    ],
)
def test_a_recipe_reaches_nothing_outside(serve, change):
    client = serve()
    status, answer = client.ask("POST", "/plans", {"recipe": {**recipe("x.jinx"), **change}, "samples": 0})
    assert (status, answer["code"]) == (422, "bad_recipe"), answer


def test_a_graph_reaches_nothing_outside(serve, tmp_path):
    client = serve()
    nodes = {"in": {"source": {"path": "data/in.jinx"}}, "out": {"sink": {"path": "results/g.jinx"}}}
    graph = {"dataset": {}, "nodes": nodes, "flows": [{"from": "in", "to": "out"}]}
    assert client.ended(client.start(graph))["state"] == "succeeded"
    assert len(jinx.open(tmp_path / "results" / "g.jinx")) == 300
    for name, node in {
        "in": {"source": {"path": "/etc/passwd"}},
        "out": {"sink": {"database": "x.db", "table": "t", "key": "id", "columns": {"id": "int"}}},
        "more": {"include": "/etc/passwd"},
    }.items():
        status, answer = client.ask("POST", "/plans", {"recipe": {**graph, "nodes": {**nodes, name: node}}})
        assert (status, answer["code"]) == (422, "bad_recipe"), node


@pytest.mark.parametrize(
    "name",
    [
        "data/../state/token",
        "data%2f..%2fstate%2ftoken",
        "data/%2e%2e/state/token",
        "data/./in.jinx",
        "data//in.jinx",
        "data/link.jinx",
        "data/linked/in.jinx",
        "data/shown.jinx",
        "data/.hidden.jinx",
        "etc/passwd",
        "data/in.jinx%00",
        "data",
    ],
)
def test_no_path_leads_out_of_the_roots(serve, tmp_path, name):
    client: Client = serve()
    outside = tmp_path / "outside"
    outside.mkdir()
    with jinx.Writer(outside / "in.jinx") as writer:
        writer.write({"secret": 1})
    jinx.open(outside / "in.jinx")[:].save(tmp_path / "data" / "shown.jinx")
    (tmp_path / "data" / "link.jinx").symlink_to(outside / "in.jinx")
    (tmp_path / "data" / "linked").symlink_to(outside)
    status, _, body = client.raw("GET", f"/v1/datasets/{name}/rows")
    assert status in {404, 422}, body
    assert b"secret" not in body
    assert str(tmp_path).encode() not in body
    assert client.get("/datasets")["datasets"] == ["data/in.jinx", "data/shown.jinx"]


def test_requests_without_the_token_or_with_another_host_are_refused(serve):
    client = serve()
    for header in ("", "Bearer", "Bearer wrong", f"Basic {client.token}", f"Bearer {client.token}x"):
        status, headers, body = client.raw("GET", "/v1/jobs", Authorization=header)
        assert (status, headers["www-authenticate"], headers["content-type"]) == (
            401,
            "Bearer",
            "application/problem+json",
        )
        assert json.loads(body)["code"] == "unauthorized"
    assert client.raw("GET", "/v1/jobs", Host="evil.test")[0] == 400
    assert client.raw("GET", "/")[0] == 404
    assert client.raw("GET", "/wrong/v1/jobs")[0] == 404
    page = client.page.partition("/")[2].partition("/")[2].partition("/")[2]
    assert client.raw("GET", f"/{page}", Authorization="")[0] == 200
    assert client.raw("GET", f"/{page}v1/jobs", Authorization="")[0] == 200
    assert client.raw("POST", f"/{page}v1/jobs", Authorization="", Sec_Fetch_Site="cross-site")[0] == 403
    status, headers, _ = client.raw("DELETE", "/v1/jobs")
    assert (status, "GET" in headers["allow"]) == (405, True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "::1"])
def test_a_server_for_other_machines_tells_an_address_that_it_answers(serve, host):
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6")
    client = serve(host=host)
    where = urlsplit(client.url)
    assert where.hostname not in {"0.0.0.0", "::"}
    client.url = f"http://{'[::1]' if ':' in host else '127.0.0.1'}:{where.port}/v1"
    named = where.netloc.rpartition(":")[0]
    assert client.raw("GET", "/v1/jobs", Host=named)[0] == 200
    assert client.raw("GET", "/v1/jobs", Host="evil.test")[0] == 400


def test_the_name_of_a_proxy_is_in_the_addresses(serve):
    client = serve(names=("JINX.example.org",))
    assert urlsplit(client.url).hostname == urlsplit(client.page).hostname == "jinx.example.org"
    client.url = f"http://127.0.0.1:{urlsplit(client.url).port}/v1"
    assert client.raw("GET", "/v1/jobs", Host="jinx.example.org")[0] == 200


def test_bad_bodies(serve):
    client = serve()
    json_type = {"Content_Type": "application/json"}
    assert client.raw("POST", "/v1/plans", body=b"{", **json_type)[0] == 400
    assert client.raw("POST", "/v1/plans", body=b"{}", **json_type)[0] == 422
    assert client.raw("POST", "/v1/plans", body=b"{}")[0] == 415
    assert client.raw("POST", "/v1/plans", body=b"[" * 200_000, **json_type)[0] == 422
    assert client.raw("POST", "/v1/plans", body=b"x" * (2 << 20), **json_type)[0] == 413
    assert client.ask("GET", "/jobs?count=0")[0] == 422
    assert client.ask("GET", "/jobs?unknown=1")[0] == 422
    assert client.ask("GET", "/jobs/none")[0] == 404
    assert client.ask("POST", "/jobs", {"plan": "../../x"})[0] == 404


def test_the_document_describes_every_operation(serve):
    client = serve()
    document = client.get("/openapi.json")
    assert len(document["paths"]) >= 17
    assert document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/JobRequest"
    }


def test_the_page_and_the_viewer_are_behind_the_secret_path(serve):
    client = serve()
    page = "/" + client.page.split("/", 3)[3]
    view = client.get("/datasets/data/in.jinx")["view"]
    assert b"jobs.js" in client.raw("GET", page)[2]
    assert client.raw("GET", f"{page}page/jobs.js")[1]["content-type"].startswith("text/javascript")
    assert json.loads(client.raw("GET", f"{page}{view}about")[2])["datasets"][0]["samples"] == 300
    assert b"jinx view" in client.raw("GET", f"{page}{view}")[2]
    assert client.raw("GET", f"{page}view/AAAA/about")[0] == 404
