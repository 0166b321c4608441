//! Target for filter expressions: any text as a condition, tested on a sample.

use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::json;
use jinx_core::value::{TreeBuilder, Value};
use jinx_format::expression::tree::Cell;
use jinx_format::expression::{Expression, Sample};

/// The first line of `data` is the expression, the rest is the JSON of a sample.
pub(super) fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (condition, row) = text.split_once('\n').unwrap_or((text, "{}"));
    let parsed = match Expression::parse(condition) {
        Ok(parsed) => parsed,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "a message of two lines: {error}");
            return;
        }
    };
    let mut tree = TreeBuilder::default();
    let Ok(row) = json::emit(row.as_bytes(), 0, &mut tree).and_then(|()| tree.take()) else { return };
    let selected = parsed.selects(&Row { expression: &parsed, row: &row });
    let Ok(opposite) = Expression::parse(&format!("not ({condition})")) else { return };
    let not_selected = opposite.selects(&Row { expression: &opposite, row: &row });
    assert!(
        !matches!((selected, not_selected), (Ok(true), Ok(true) | Err(_))),
        "a condition holds and so may its opposite"
    );
}

struct Row<'r> {
    expression: &'r Expression,
    row: &'r Value,
}

impl Row<'_> {
    fn at(&self, path: usize) -> &Value {
        let names = self.expression.paths().get(path).map(|path| &path.names);
        let found = names.and_then(|names| names.iter().try_fold(self.row, |value, name| value.get(name)));
        found.unwrap_or(&Value::Null)
    }
}

impl Sample for Row<'_> {
    fn value(&self, path: usize) -> Result<Cell<'_>> {
        Ok(Cell::of_value(self.at(path)))
    }

    fn length(&self, path: usize) -> Result<Option<u64>> {
        match self.at(path) {
            Value::Null => Ok(None),
            Value::List(items) => Ok(Some(to_u64(items.len()))),
            Value::Dict(members) => Ok(Some(to_u64(members.len()))),
            _ => Err(Error::mismatch("a value without a length")),
        }
    }
}
