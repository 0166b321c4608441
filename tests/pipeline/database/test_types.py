"""Types of columns: a table or a query never changes a value, and never makes one key of two."""

import json
import sqlite3
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import run as command
from jinx_pipeline.database.address import address_of
from jinx_pipeline.database.columns import columns_of
from jinx_pipeline.database.connection import DatabaseError, connect
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.table import table_upsert
from jinx_pipeline.operators.table.table_upsert import TableUpsert
from jinx_pipeline.recipe.read import recipe_of

pytestmark = pytest.mark.filterwarnings("ignore::platformdirs.api.RuntimeDirWarning", "ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def executed(database, *statements):
    connection = connect(address_of(database))
    try:
        for statement in statements:
            rows = connection._connection.execute(statement)
        return rows
    finally:
        connection.close()


def rows_of(database, query):
    connection = connect(address_of(database), only_reads=True)
    try:
        return [row for _, rows in connection.select(query) for row in rows]
    finally:
        connection.close()


def picked(database, query, columns):
    source = {"database": database, "query": query, "columns": columns}
    jp.Run(recipe_of({"dataset": {"sources": [source]}, "export": {"path": "out.jinx", "overwrite": True}}))()
    return jinx.open("out.jinx").to_list()


def stored(database, rows, columns, table="t"):
    """Write rows in this process, and close the connection."""
    operator = TableUpsert(database=database, table=table, key="k", columns=columns)
    try:
        operator(rows)
    finally:
        for connection, _ in table_upsert._CONNECTIONS.values():
            connection.close()
        table_upsert._CONNECTIONS.clear()


def loaded(value, kind):
    """A value as a query gives it, for a column `k` of a type."""
    executed("m.db", "CREATE TABLE t (k)", f"INSERT INTO t VALUES ({value})")
    (column,) = columns_of({"k": kind})
    return column.loaded(rows_of("m.db", "SELECT k FROM t")[0][0])


@pytest.mark.parametrize(
    ("database", "key", "kind", "keys"),
    [
        ("sqlite", "INTEGER", "str", ["7", "007"]),
        ("sqlite", "NUMERIC", "str", ["1", "1.0"]),
        ("sqlite", "REAL", "int", [2**53, 2**53 + 1]),
        ("postgresql", "REAL", "int", [2**24, 2**24 + 1]),
        ("postgresql", "NUMERIC(5, 0)", "float", [1.2, 1.3]),
        ("postgresql", "CHAR(4)", "str", ["a", "a "]),
        ("postgresql", "INTEGER", "str", ["7", "007"]),
        ("postgresql", "DATE", "str", ["2020-01-01", "2020-01-01T05:00:00"]),
        ("postgresql", "TIMESTAMP", "str", ["2020-01-01T00:00:00+05:00", "2020-01-01T00:00:00+00:00"]),
        ("postgresql", "BOOLEAN", "str", ["yes", "true"]),
    ],
    indirect=["database"],
)
def test_a_key_column_that_makes_two_keys_equal_is_refused(database, key, kind, keys):
    executed(database, f"CREATE TABLE t (k {key} PRIMARY KEY, v BIGINT)")
    rows = [{"k": value, "v": n} for n, value in enumerate(keys)]
    with pytest.raises(DatabaseError, match=f"the column k of the table t is .* changes values of the type {kind}"):
        stored(database, rows, {"k": kind, "v": "int"})
    assert rows_of(database, "SELECT * FROM t") == []


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_key_that_ignores_case_is_none(database):
    executed(database, "CREATE TABLE t (k TEXT COLLATE NOCASE PRIMARY KEY, v INTEGER)")
    with pytest.raises(DatabaseError, match="the columns k are no key of the table t"):
        stored(database, [{"k": "a", "v": 1}, {"k": "A", "v": 2}], {"k": "str", "v": "int"})


@pytest.mark.parametrize(
    ("database", "column", "kind"),
    [
        ("sqlite", "INTEGER", "str"),
        ("sqlite", "REAL", "int"),
        ("sqlite", "DATETIME", "str"),
        ("sqlite", "TEXT", "float"),
        ("sqlite", "TEXT", "bool"),
        ("sqlite", "JSON", "json"),
        ("postgresql", "REAL", "float"),
        ("postgresql", "NUMERIC(5, 1)", "float"),
        ("postgresql", "CHARACTER(6)", "str"),
        ("postgresql", "TEXT", "bytes"),
        ("postgresql", "MONEY", "int"),
    ],
    indirect=["database"],
)
def test_a_column_that_changes_values_is_refused(database, column, kind):
    executed(database, f"CREATE TABLE t (k BIGINT PRIMARY KEY, v {column})")
    connection = connect(address_of(database))
    with pytest.raises(DatabaseError, match=f"the column v of the table t is .* changes values of the type {kind}"):
        connection.prepare("t", columns_of({"k": "int", "v": kind}), ["k"])
    connection.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_spaces_that_postgresql_would_cut_off_are_an_error(database):
    executed(database, "CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR(2))")
    stored(database, [{"k": 1, "v": "ab"}], {"k": "int", "v": "str"})
    with pytest.raises(ValueError, match="a text of 4 characters for the column v, which holds 2"):
        stored(database, [{"k": 2, "v": "ab  "}], {"k": "int", "v": "str"})
    assert rows_of(database, "SELECT v FROM t") == [("ab",)]


def test_a_table_of_other_types_that_keep_values_is_filled(database):
    is_file = database.endswith(".db")
    kinds = ["INT", "BOOL", "BLOB", "TEXT"] if is_file else ["NUMERIC", "BOOLEAN", "BYTEA", "JSON"]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip("ibyj", kinds, strict=True))
    executed(database, f"CREATE TABLE t (k VARCHAR(9) PRIMARY KEY, f DOUBLE PRECISION, {columns})")
    given = {"k": "é", "f": 0.1, "i": 2**53 + 1, "b": True, "y": b"\0\xff", "j": {"a": ["5", 5]}}
    types = {"k": "str", "f": "float", "i": "int", "b": "bool", "y": "bytes", "j": "json"}
    stored(database, [given], types)
    found = rows_of(database, "SELECT k, f, CAST(i AS TEXT), b, y, j FROM t")
    assert found == [("é", 0.1, str(2**53 + 1), True, b"\0\xff", json.dumps(given["j"]))]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_dates_and_types_of_a_schema_are_filled_outside_of_the_key(database):
    executed(
        database, "CREATE TYPE mood AS ENUM ('good', 'bad')", "CREATE TABLE t (k UUID PRIMARY KEY, d DATE, m mood)"
    )
    row = {"k": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "d": "2020-02-03", "m": "bad"}
    stored(database, [row], dict.fromkeys("kdm", "str"))
    assert rows_of(database, "SELECT d::text, m::text FROM t") == [("2020-02-03", "bad")]


def test_texts_in_json_are_decoded_once(database):
    values = ["5", "abc", "true", {"a": "1"}, [1, "2"], None, 5, "null"]
    stored(database, [{"k": n, "j": value} for n, value in enumerate(values)], {"k": "int", "j": "json"})
    found = picked(database, "SELECT k, j FROM t ORDER BY k", {"k": "int", "j": "json"})
    assert [row["j"] for row in found] == values


@pytest.mark.parametrize(
    ("value", "kind"), [("5", "bytes"), ("7", "bool"), ("9007199254740993", "float"), ("1", "str"), ("1.5", "int")]
)
def test_a_selected_value_of_another_type_is_an_error(value, kind):
    with pytest.raises((TypeError, ValueError), match="the column k has"):
        loaded(value, kind)


def test_an_integer_that_no_float_holds_is_an_error(database):
    stored(database, [{"k": 1, "f": 3}], {"k": "int", "f": "float"})
    with pytest.raises(ValueError, match="the nearest float is 1152921504606846976"):
        stored(database, [{"k": 2, "f": 2**60 + 1}], {"k": "int", "f": "float"})
    assert rows_of(database, "SELECT k, f FROM t") == [(1, 3.0)]


@pytest.mark.parametrize("query", ["DELETE FROM t", "INSERT INTO t VALUES (9) RETURNING k", "PRAGMA user_version = 5"])
def test_a_query_changes_nothing(query):
    executed("m.db", "CREATE TABLE t (k INTEGER)", "INSERT INTO t VALUES (1)")
    with pytest.raises((DatabaseError, ValueError)):
        picked("m.db", query, {"k": "int"})
    assert rows_of("m.db", "SELECT k FROM t") == [(1,)]
    with sqlite3.connect("m.db") as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)


def test_the_columns_of_a_query_without_rows_are_checked(database):
    executed(database, "CREATE TABLE t (k INTEGER)")
    with pytest.raises(DatabaseError, match="the query has no column key; it has: k"):
        picked(database, "SELECT k FROM t ORDER BY k", {"key": "int"})


def test_a_source_of_sqlite_that_does_not_exist_is_not_made(tmp_path):
    with pytest.raises(DatabaseError, match=r"typo\.db: no such database"):
        picked("typo.db", "SELECT k FROM t ORDER BY k", {"k": "int"})
    assert not (tmp_path / "typo.db").exists()


def test_names_that_postgresql_cuts_off_are_refused():
    for table, columns in (("t" * 64, {"k": "int"}), ("t", {"k": "int", "v" * 64: "int"})):
        with pytest.raises(ParameterError, match="has more than the 63 characters of a name"):
            TableUpsert(database="m.db", table=table, key="k", columns=columns)


def test_a_source_that_is_refused_is_one_line_of_the_command(capsys):
    source = {"database": "typo.db", "query": "SELECT k FROM t", "columns": {"k": "int"}}
    Path("recipe.yaml").write_text(json.dumps({"dataset": {"sources": [source]}, "export": "out.jinx"}))
    assert command(["run", "recipe.yaml", "--progress", "none"]) == 1
    assert capsys.readouterr().err == "jinx-pipeline: typo.db: no such database\n"
