//! The files of `spec/vectors` read as their list says, by map and by positioned reads.
#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]

mod tagged;

use jinx_core::io::Access;
use jinx_core::json;
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Cause, Error, Result};
use jinx_format::read::columns::{ColumnKind, ColumnType, IndexedColumn};
use jinx_format::read::open::resolve;
use jinx_format::read::shard::{OpenOptions, Shard, Verify};
use jinx_format::verify::verify;
use std::path::{Path, PathBuf};
use tagged::{int_of, same, show, text_of};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors")
}

/// All but saved views, of which this crate opens only the view's own file.
fn vectors() -> Vec<Value> {
    listed(false)
}

fn listed(views: bool) -> Vec<Value> {
    let text = std::fs::read(directory().join("vectors.json")).unwrap();
    let mut tree = TreeBuilder::default();
    json::emit(&text, 0, &mut tree).unwrap();
    let Some(Value::List(list)) = tree.take().unwrap().get("vectors").cloned() else {
        panic!("no list of vectors")
    };
    let is_view = |vector: &Value| {
        let name = text_of(vector.get("name").unwrap());
        name.starts_with("views/") || name.starts_with("typed/")
    };
    list.into_iter().filter(|vector| is_view(vector) == views).collect()
}

fn open(path: &Path, access: Access) -> Result<Vec<Shard>> {
    let options = OpenOptions { access, verify: Verify::Full, ..OpenOptions::default() };
    resolve(path)?.iter().map(|shard| shard.open(&options)).collect()
}

fn row(shards: &[Shard], mut i: u64) -> Result<Value> {
    for shard in shards {
        if i < shard.len() {
            let mut tree = TreeBuilder::default();
            shard.emit_row(i, &mut tree)?;
            return tree.take();
        }
        i -= shard.len();
    }
    Err(Error::invalid("past the last row"))
}

fn cause_name(error: &Error) -> String {
    match error.cause() {
        Cause::Io(kind) => format!("io ({kind:?})"),
        cause => format!("{cause:?}").to_lowercase(),
    }
}

fn check_good(path: &Path, expect: &Value, access: Access) -> Result<(), String> {
    let shards = open(path, access).map_err(|error| format!("does not open: {error}"))?;
    let Some(Value::List(rows)) = expect.get("rows") else { panic!("no rows") };
    let total: u64 = shards.iter().map(Shard::len).sum();
    if total != rows.len() as u64 {
        return Err(format!("{total} rows, {} expected", rows.len()));
    }
    for (i, expected) in rows.iter().enumerate() {
        let found = row(&shards, i as u64).map_err(|error| format!("row {i}: {error}"))?;
        if !same(expected, &found) {
            return Err(format!("row {i}: {} where {} is expected", show(&found), show(expected)));
        }
    }
    let Some(Value::List(columns)) = expect.get("columns") else { return Ok(()) };
    if columns.len() != shards[0].footer().columns.len() {
        return Err(format!("{} columns, {} expected", shards[0].footer().columns.len(), columns.len()));
    }
    columns.iter().try_for_each(|column| check_column(&shards[0], column))
}

fn check_column(shard: &Shard, expected: &Value) -> Result<(), String> {
    let Some(Value::List(path)) = expected.get("path") else { panic!("no path") };
    let path: Vec<Option<String>> = path.iter().map(|part| Some(text_of(part).to_owned())).collect();
    let kind = if text_of(expected.get("kind").unwrap()) == "length" {
        ColumnKind::Length
    } else {
        ColumnKind::Value
    };
    let found = shard.column(&path, kind).map_err(|error| error.to_string())?;
    let column = found.ok_or_else(|| format!("no column {path:?}"))?;
    let Some(Value::List(values)) = expected.get("values") else { panic!("no values") };
    for (i, value) in values.iter().enumerate() {
        let cell = cell(&column, i as u64);
        if !same(value, &cell) {
            return Err(format!(
                "column {path:?}, row {i}: {} where {} is expected",
                show(&cell),
                show(value)
            ));
        }
    }
    Ok(())
}

fn cell(column: &IndexedColumn, i: u64) -> Value {
    if !column.is_valid(i) {
        return Value::Null;
    }
    let bytes = column.cell(i);
    match column.dtype {
        ColumnType::Bool => Value::Bool(bytes[0] == 1),
        ColumnType::Utf8 => Value::Str(String::from_utf8(bytes.to_vec()).unwrap()),
        ColumnType::Float64 => Value::Float(f64::from_le_bytes(bytes.try_into().unwrap())),
        dtype => int_of(bytes, dtype.name().starts_with('i')),
    }
}

fn check_bad(path: &Path, expect: &Value, access: Access) -> Result<(), String> {
    let error = text_of(expect.get("error").unwrap());
    let at = text_of(expect.get("at").unwrap());
    let right = |found: Error| {
        let name = cause_name(&found);
        if name == error { Ok(()) } else { Err(format!("{name} where {error} is expected: {found}")) }
    };
    let shards = match open(path, access) {
        Err(found) if at != "value" => return right(found),
        Err(found) => return Err(format!("must open: {found}")),
        Ok(_) if at == "open" => return Err(format!("opens; {error} is expected")),
        Ok(shards) => shards,
    };
    if let Some(Value::Dict(good)) = expect.get("good") {
        for (i, expected) in good {
            let found = row(&shards, i.parse().unwrap()).map_err(|error| format!("good row {i}: {error}"))?;
            if !same(expected, &found) {
                return Err(format!("good row {i}: {}", show(&found)));
            }
        }
    }
    let Some(Value::Int(bad)) = expect.get("row") else { panic!("no row") };
    match row(&shards, bad.cast_unsigned()) {
        Ok(value) => Err(format!("row {bad} reads as {}; {error} is expected", show(&value))),
        Err(found) => right(found),
    }
}

#[test]
fn all_vectors() {
    let mut wrong = Vec::new();
    let vectors = vectors();
    assert!(vectors.len() >= 120, "the list is too short");
    for vector in &vectors {
        let path = directory().join(text_of(vector.get("path").unwrap()));
        let expect = vector.get("expect").unwrap();
        for access in [Access::Auto, Access::Pread] {
            let check = if expect.get("error").is_some() { check_bad } else { check_good };
            if let Err(what) = check(&path, expect, access) {
                wrong.push(format!("{}: {what}", text_of(vector.get("name").unwrap())));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} vectors:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}

/// Files that every reader reads, though no writer may leave out counts or let values overlap.
const ONLY_READABLE: [&str; 4] = ["1_1/chains", "1_1/codecs", "1_1/depth_256", "1_1/pointers"];

#[test]
fn verify_agrees_with_all_vectors() {
    let mut wrong = Vec::new();
    for vector in &vectors() {
        let path = directory().join(text_of(vector.get("path").unwrap()));
        let is_only_readable = ONLY_READABLE.contains(&text_of(vector.get("name").unwrap()));
        let is_good = vector.get("expect").unwrap().get("error").is_none() && !is_only_readable;
        let found = verify(&path, &mut |_, _| Ok(()));
        if found.as_ref().is_ok_and(Vec::is_empty) != is_good {
            wrong.push(format!("{}: {found:?}", text_of(vector.get("name").unwrap())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a view's own file tells is noticed without its bases.
#[test]
fn saved_views_alone() {
    let options = OpenOptions { views: true, ..OpenOptions::default() };
    let (mut good, mut refused) = (0, 0);
    for vector in &listed(true) {
        let name = text_of(vector.get("name").unwrap());
        let path = directory().join(text_of(vector.get("path").unwrap()));
        let expect = vector.get("expect").unwrap();
        let opened = resolve(&path)
            .and_then(|shards| shards.iter().map(|shard| shard.open(&options)).collect::<Result<Vec<_>>>());
        match expect.get("error").map(text_of) {
            None => {
                good += 1;
                assert!(opened.unwrap().iter().all(|shard| shard.footer().view.is_some()), "{name}");
                assert_eq!(verify(&path, &mut |_, _| Ok(())).unwrap(), [], "{name}");
                let plain = resolve(&path).unwrap()[0].open(&OpenOptions::default());
                assert!(plain.is_err(), "{name}");
            }
            Some(error)
                if error != "mismatch" && (path.is_dir() || text_of(expect.get("at").unwrap()) == "open") =>
            {
                refused += 1;
                assert_eq!(cause_name(&opened.unwrap_err()), error, "{name}");
            }
            Some(_) => assert!(opened.is_ok(), "{name}"),
        }
    }
    assert!(good >= 15 && refused >= 30, "{good} good, {refused} refused");
}
