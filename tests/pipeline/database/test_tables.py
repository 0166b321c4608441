"""Tables of SQLite and PostgreSQL as sinks and sources."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.columns import columns_of
from jinx_pipeline.database.connection import DatabaseError, connect
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.run_plan import ChangedError
from pipeline.made import Killer, records_of

pytestmark = pytest.mark.filterwarnings("ignore::platformdirs.api.RuntimeDirWarning", "ignore::ResourceWarning")

COLUMNS = {"id": "int", "title": "str:meta.title", "score": "float", "good": "bool", "raw": "bytes", "tags": "json"}


def sample(n):
    tags = None if n % 7 == 0 else [f"t{n % 3}", {"n": n}]
    return {
        "id": n,
        "meta": {"title": f"Ünit {n}"},
        "score": n / 8,
        "good": n % 2 == 0,
        "raw": bytes([n % 256]),
        "tags": tags,
    }


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with jinx.Writer("in.jinx") as writer:
        writer.write_many(sample(n) for n in range(100))
    return tmp_path


def recipe(database, **options):
    return recipe_of(
        {
            "nodes": {
                "rows": {"source": "in.jinx"},
                "meta": {"sink": {"database": database, "table": "clips", "key": "id", "columns": COLUMNS}},
                "out": {"sink": "out.jinx"},
            },
            "flows": [{"from": "rows", "to": "meta"}, {"from": "meta", "to": "out"}],
            "block_rows": 9,
            **options,
        }
    )


def rows_in(database, query="SELECT * FROM clips ORDER BY id"):
    connection = connect(address_of(database))
    try:
        return [dict(zip(names, row, strict=True)) for names, rows in connection.select(query) for row in rows]
    finally:
        connection.close()


def expected(database, numbers=range(100)):
    columns = columns_of(COLUMNS)
    is_sqlite = not database.startswith("env:")

    def stored(n):
        row = sample(n)
        values = {**row, "title": row["meta"]["title"]}
        facts = {column.name: values[column.name] for column in columns}
        facts["tags"] = None if facts["tags"] is None else json.dumps(facts["tags"])
        return facts | {"good": int(facts["good"])} if is_sqlite else facts

    return [stored(n) for n in numbers]


def test_rows_are_upserted_and_flow_on(data, database):
    result = jp.Run(recipe(database))()
    assert result.ok
    assert len(jinx.open("out.jinx")) == 100
    assert rows_in(database) == expected(database)
    # The same rows again change nothing; other rows take their place.
    with jinx.Writer("in.jinx", overwrite=True) as writer:
        writer.write_many({**sample(n), "score": -1.0} for n in range(50, 120))
    Path("out.jinx").unlink()
    jp.Run(recipe(database), restart=True)()
    rows = rows_in(database)
    assert [row["id"] for row in rows] == list(range(120))
    assert [row["score"] for row in rows] == [n / 8 for n in range(50)] + [-1.0] * 70


def test_a_table_that_is_gone_is_not_taken_for_written(data, database):
    assert jp.Run(recipe(database))().ok
    assert jp.Run(recipe(database))().resumed
    address = address_of(database)
    connected = sqlite3.connect if address.kind == "sqlite" else pytest.importorskip("psycopg").connect
    with closing(connected(address.target)) as connection, connection:
        connection.execute("DROP TABLE clips")
    with pytest.raises(ChangedError, match="has written rows to the table clips, which is gone"):
        jp.Run(recipe(database))()


def test_a_database_that_refuses_is_not_taken_for_gone(data, server, monkeypatch):
    monkeypatch.setenv("CLIPS_DB", server.url)
    assert jp.Run(recipe("env:CLIPS_DB"))().ok
    monkeypatch.setenv("CLIPS_DB", server.url.replace("/postgres?", "/no_such_database?"))
    with pytest.raises(ChangedError, match=r"cannot be looked at: PostgreSQL: .*no_such_database"):
        jp.Run(recipe("env:CLIPS_DB"))()


def test_a_sink_that_nothing_reads(data, database):
    what = recipe_of(
        {
            "nodes": {
                "rows": {"source": "in.jinx"},
                "meta": {"sink": {"database": database, "table": "clips", "key": ["id"], "columns": {"id": "int"}}},
                "out": {"sink": "out.jinx"},
            },
            "flows": [{"from": "rows", "to": ["meta", "out"]}],
        }
    )
    jp.Run(what)()
    assert rows_in(database) == [{"id": n} for n in range(100)]


@pytest.mark.timeout(240)
def test_kills_of_workers_lose_and_repeat_nothing(data, database):
    with Killer(2, data / "out.jinx.work") as killer:
        jp.Run(recipe(database, workers=2))()
    assert killer.killed
    assert rows_in(database) == expected(database)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_and_started_again(data, server, monkeypatch, seconds):
    monkeypatch.setenv("META_DB", server.url)
    connection = connect(address_of("env:META_DB"))
    connection._connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    connection.close()
    done = Event()

    def crash():
        log = data / "out.jinx.work"
        while not done.is_set() and not any(log.glob("runs/*/parts/*.jinx")):
            done.wait(0.02)
        server.kill()
        done.wait(seconds)
        server.start()

    thread = Thread(target=crash)
    thread.start()
    try:
        result = jp.Run(recipe("env:META_DB", workers=2))()
    finally:
        done.set()
        thread.join()
    assert result.ok
    assert rows_in("env:META_DB") == expected("env:META_DB")


def test_a_row_that_the_database_refuses_is_left_out_alone(data, database):
    connection = connect(address_of(database))
    columns = columns_of(COLUMNS)
    kinds = "id BIGINT PRIMARY KEY, title TEXT, score DOUBLE PRECISION CHECK (score < 4), good BOOLEAN, raw {}, tags {}"
    types = ("BLOB", "TEXT") if database.endswith(".db") else ("BYTEA", "JSONB")
    connection._connection.execute(f"CREATE TABLE clips ({kinds.format(*types)})")
    connection.prepare("clips", columns, ["id"])
    connection.close()
    result = jp.Run(recipe(database, max_bad_rows=100))()
    assert [bad.row for bad in result.bad_rows] == list(range(32, 100))
    assert "table_upsert" in {bad.operator for bad in result.bad_rows}
    assert [row["id"] for row in rows_in(database)] == list(range(32))
    assert len(jinx.open("out.jinx")) == 32


def test_a_value_of_another_type_is_left_out_alone(data, database):
    with jinx.Writer("in.jinx", overwrite=True) as writer:
        writer.write_many(
            [sample(0), {**sample(1), "score": "high"}, {**sample(2), "id": None}, {**sample(3), "id": 2**70}]
        )
    result = jp.Run(recipe(database, max_bad_rows=3))()
    assert [bad.row for bad in result.bad_rows] == [1, 2, 3]
    assert "score is str, and the column score is float" in result.bad_rows[0].error
    assert rows_in(database) == expected(database, [0])


def test_a_table_without_a_column_or_a_key_stops_the_run(data, database):
    connection = connect(address_of(database))
    connection._connection.execute("CREATE TABLE clips (id BIGINT PRIMARY KEY, score DOUBLE PRECISION)")
    with pytest.raises(StoppedError, match="the table clips has no column title; it has: id, score"):
        jp.Run(recipe(database))()
    with pytest.raises(DatabaseError, match="the columns score are no key of the table clips"):
        connection.prepare("clips", columns_of({"id": "int", "score": "float"}), ["score"])
    connection.close()


def test_a_query_is_a_source_of_samples(data, database):
    jp.Run(recipe(database))()
    columns = {"id": "int", "title": "str", "good": "bool", "raw": "bytes", "tags": "json", "score": "float"}
    query = {"database": database, "query": "SELECT * FROM clips WHERE score >= 10 ORDER BY id", "columns": columns}
    what = recipe_of(
        {
            "nodes": {"rows": {"source": query}, "out": {"sink": "picked.jinx"}},
            "flows": [{"from": "rows", "to": "out"}],
        }
    )
    assert any("selected first, once: SELECT" in line for line in describe(what)["lines"])
    jp.Run(what)()
    picked = jinx.open("picked.jinx").to_list()
    assert [row["id"] for row in picked] == list(range(80, 100))
    assert [row["tags"] for row in picked] == [sample(n)["tags"] for n in range(80, 100)]
    assert {type(row["good"]) for row in picked} == {bool}
    assert picked[0]["raw"] == sample(80)["raw"]


def test_a_query_is_selected_once_for_each_run(data):
    with sqlite3.connect("m.db") as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(3)])
    source = {"database": "m.db", "query": "SELECT a FROM t ORDER BY a", "columns": {"a": "int"}}
    what = recipe_of({"dataset": {"sources": [source]}, "export": "out"})
    assert jp.Run(what)().rows_out == 3
    with sqlite3.connect("m.db") as connection:
        connection.execute("INSERT INTO t VALUES (7)")
    assert jp.Run(what)().rows_out == 3
    again = what.with_exports([type(what.exports[0])("again")])
    assert jp.Run(again)().rows_out == 4


def picked_by(query, database="m.db", out="out"):
    source = {"database": database, "query": query, "columns": {"a": "int"}}
    return jp.Run(recipe_of({"dataset": {"sources": [source]}, "export": out}))


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_source_changes_no_file(data, mode):
    """The file of a query was switched to a write-ahead log, and a query could delete rows."""
    with closing(sqlite3.connect("m.db")) as connection, connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (3)")
    before = Path("m.db").read_bytes()
    with pytest.raises(DatabaseError, match="readonly"):
        picked_by("DELETE FROM t RETURNING a", out="deleted")()
    assert picked_by("SELECT a FROM t")().rows_out == 1
    assert Path("m.db").read_bytes() == before
    assert not list(data.glob("m.db-*"))
    with pytest.raises(DatabaseError, match=r"typo\.db: no such database"):
        picked_by("SELECT a FROM t", "typo.db", "other")()
    assert not Path("typo.db").exists()


def test_a_file_with_a_log_is_read_where_nothing_can_be_written(data, monkeypatch):
    with closing(sqlite3.connect("m.db")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (a)")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    connection = connect(address_of("m.db"), only_reads=True)
    assert list(connection.select("SELECT a FROM t")) == [(["a"], [])]
    connection.close()
    assert not list(data.glob("m.db-*"))


WRONG = [
    ({"database": "postgresql://u:secret@h/d"}, "the URL has a password"),
    ({"database": "host=h dbname=d password=p"}, "write the connection as a URL"),
    ({"database": "mysql://h/d"}, "a database is the path of a SQLite file"),
    ({"table": "a b"}, "is no name for a table or column"),
    ({"columns": {"id": "text"}}, "a type is one of str, int"),
    ({"key": "n"}, "key names columns of the table: id"),
    ({"tabel": "a"}, "did you mean 'table'"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_mistake_is_reported(change, message):
    sink = {"database": "m.db", "table": "t", "key": "id", "columns": {"id": "int"}} | change
    data = {
        "nodes": {"a": {"source": "a.jinx"}, "t": {"sink": sink}, "b": {"sink": "b.jinx"}},
        "flows": [{"from": "a", "to": "t"}, {"from": "t", "to": "b"}],
    }
    with pytest.raises(RecipeError) as caught:
        recipe_of(data)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_variable_that_is_not_set_is_reported_before_anything_starts(data, monkeypatch):
    monkeypatch.delenv("NO_DB", raising=False)
    with pytest.raises(RecipeError, match="env:NO_DB: the environment variable NO_DB is not set"):
        jp.Run(recipe("env:NO_DB"))()
    assert not Path("out.jinx.work").exists()


def test_the_address_of_a_variable_is_written_nowhere(data, monkeypatch):
    monkeypatch.setenv("META_DB", f"sqlite:///{data}/secret-name.db")
    jp.Run(recipe("env:META_DB"))()
    assert (data / "secret-name.db").exists()
    written = [path for path in (data / "out.jinx.work").rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if b"secret-name" in path.read_bytes()]


def late(database):
    """Upserts, and selects what was upserted."""
    query = {"database": database, "query": "SELECT id, score FROM clips WHERE id < 40 ORDER BY id DESC"}
    return {
        "nodes": {
            "rows": {"source": "in.jinx"},
            "meta": {"sink": {"database": database, "table": "clips", "key": "id", "columns": COLUMNS}},
            "all": {"sink": "all.jinx"},
            "picked": {"source": {**query, "columns": {"id": "int", "score": "float"}}, "after": ["meta"]},
            "odd": {"operators": [{"specified_numeric_field_filter": {"field_key": "id", "max_value": 30}}]},
            "out": {"sink": "out.jinx"},
        },
        "flows": [
            {"from": "rows", "to": "meta"},
            {"from": "meta", "to": "all"},
            {"from": "picked", "to": "odd"},
            {"from": "odd", "to": "out"},
        ],
        "block_rows": 9,
    }


def test_a_query_after_a_table_selects_what_the_run_has_written(data, database):
    assert jp.Run(recipe_of(late(database), workers=2))().ok
    picked = jinx.open("out.jinx").to_list()
    assert [{name: row[name] for name in ("id", "score")} for row in picked] == [
        {"id": n, "score": n / 8} for n in range(30, -1, -1)
    ]
    assert all("query" not in row for row in picked)


def test_rows_that_a_run_has_selected_stay_when_it_is_resumed(data):
    recipe = recipe_of(late(str(data / "meta.db")), workers=1)
    run = jp.Run(recipe)

    def stop():
        done = [record["node"] for record in records_of(data / "all.jinx.work", "committed")]
        if any(node.startswith("table_select") for node in done):
            raise StoppedError("stopped")

    run._raise_if_cancelled = stop
    with pytest.raises(StoppedError):
        run()
    connection = sqlite3.connect("meta.db")
    with connection:
        connection.execute("DELETE FROM clips")
    connection.close()
    assert jp.Run(recipe)().ok
    assert [row["id"] for row in jinx.open("out.jinx").to_list()] == list(range(30, -1, -1))
