//! Tests every form of an expression, and every mistake in one.
#![allow(clippy::unwrap_used)]

use super::tree::Cell;
use super::{Expression, Sample, ValueKind, characters};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::json;
use jinx_core::value::{TreeBuilder, Value};

/// A sample as JSON.
struct Row<'r> {
    expression: &'r Expression,
    value: Value,
}

impl Row<'_> {
    fn at(&self, path: usize) -> &Value {
        let names = &self.expression.paths()[path].names;
        names.iter().try_fold(&self.value, |value, name| value.get(name)).unwrap_or(&Value::Null)
    }
}

impl Sample for Row<'_> {
    fn value(&self, path: usize) -> Result<Cell<'_>> {
        Ok(Cell::of_value(self.at(path)))
    }

    fn length(&self, path: usize) -> Result<Option<u64>> {
        match self.at(path) {
            Value::Null => Ok(None),
            Value::Str(text) => Ok(Some(characters(text))),
            Value::List(items) => Ok(Some(to_u64(items.len()))),
            _ => Err(Error::mismatch("no length")),
        }
    }
}

fn selects(expression: &str, row: &str) -> Result<bool> {
    let expression = Expression::parse(expression)?;
    let mut tree = TreeBuilder::default();
    json::emit(row.as_bytes(), 0, &mut tree)?;
    expression.selects(&Row { expression: &expression, value: tree.take()? })
}

#[test]
fn conditions_mean_what_they_mean_in_python() {
    let row = r#"{"n":3,"x":0.5,"s":"Größe","b":true,"gone":null,"l":[1,2],"d":{"n":7,"a.b":1,"class":2},"my col":4,
        "big":18446744073709551615,"huge":340282366920938463463374607431768211456,"min":-9223372036854775808}"#;
    for (expression, expected) in [
        ("n == 3", true),
        ("3 == n", true),
        ("n != 3", false),
        ("2 < n <= 3", true),
        ("4 > n > 2 > 1", true),
        ("1 < n < 3", false),
        ("n < 3.5 and x >= .5", true),
        ("n == 3 or s > 3 + 4", true),
        ("not n == 3", false),
        ("not not n == 3", true),
        ("n == 1 or n == 2 and n == 3 or n == 3", true),
        ("(n == 3 or n == 2) and n == 2", false),
        ("n in (1, 2, 3)", true),
        ("n in [1, 2,]", false),
        ("n not in (1, 2)", true),
        ("n in (3)", true),
        ("n in ()", false),
        ("s in ('a', 'Größe')", true),
        ("x in (1e0, 5e-1)", true),
        ("n + 1 == 4 and n - 1 == 2 and n * 2 == 6 and n / 2 == 1.5", true),
        ("n // 2 == 1 and n % 2 == 1 and -n // 2 == -2 and -n % 2 == 1", true),
        ("1 + 2 * n == 7 and (1 + 2) * n == 9 and 10 - n - 2 == 5", true),
        ("-n == -3 and - -n == 3 and +n == 3", true),
        ("n / 0 == 1", false),
        ("not n / 0 == 1", false),
        ("b", true),
        ("not b", false),
        ("b == True and b == 1 and b + 1 == 2", true),
        ("b and True and not False", true),
        ("len(s) == 5 and len(l) == 2", true),
        ("lower(s) == 'größe' and s != 'größe'", true),
        ("contains(s, 'ö') and startswith(s, 'Gr') and endswith(s, 'ße')", true),
        ("contains(lower(s), 'grö') and not contains(s, 'x')", true),
        ("s == '\\u0047r\\xf6\\U000000dfe' and s != 'a\\'b' and s > '\\n\\t\\\\'", true),
        ("s < 'Z'", true),
        ("d.n == 7 and d.\"a.b\" == 1 and d.class == 2", true),
        ("\"my col\" == 4 and \"n\" == 3", true),
        ("d is not None and gone is None and nowhere.at.all is None", true),
        ("n is None", false),
        ("gone == 3", false),
        ("not gone == 3", false),
        ("gone != 3", false),
        ("gone in (1,)", false),
        ("not gone in (1,)", false),
        ("gone not in ()", false),
        ("not (gone == 3 and n == 4)", true),
        ("gone == 3 or n == 3", true),
        ("not contains(gone, 'x')", false),
        ("gone + 1 > 0 or -gone > 0 or lower(gone) == 'x' or len(gone) > 0", false),
        ("not gone", false),
        ("big == 18446744073709551615 and big > 18446744073709551614", true),
        ("big < 1.8446744073709552e19", true),
        ("huge == 340282366920938463463374607431768211456 and huge > big", true),
        ("huge == 3.402823669209384634633746e38", true),
        ("min == -9223372036854775808 and min - 1 < min", true),
        ("n == --3 and 1_000 > n", true),
        // An impossible comparison is no error if the answer does not depend on it.
        ("s > 3 and n == 4", false),
        ("n == 4 and s > 3", false),
        ("s > n or n == 3", true),
        ("gone == 1 and l > n", false),
    ] {
        assert_eq!(selects(expression, row).unwrap(), expected, "{expression}");
    }
}

#[test]
fn nan_is_as_in_python() {
    let expression = Expression::parse("x < 1 or x >= 1 or x == x").unwrap();
    let nan = Value::Dict(vec![("x".into(), Value::Float(f64::NAN))]);
    assert!(!expression.selects(&Row { expression: &expression, value: nan.clone() }).unwrap());
    for text in ["x != x", "not x < 1", "x is not None"] {
        let expression = Expression::parse(text).unwrap();
        assert!(expression.selects(&Row { expression: &expression, value: nan.clone() }).unwrap(), "{text}");
    }
}

#[test]
fn what_cannot_be_compared_is_an_error_where_it_matters() {
    let row = r#"{"n":3,"s":"web","l":[1],"d":{"n":"x"},"huge":340282366920938463463374607431768211456}"#;
    for (expression, expected) in [
        ("s > n", "column 's': a string cannot be compared with a number, in: s > n"),
        ("n == 3 and not d.n == 3", "column 'd.n': a string cannot be compared with a number, in: d.n == 3"),
        ("l == n", "column 'l': a list cannot be compared with a number, in: l == n"),
        (
            "n in (1, 2) or s in (1, 2)",
            "column 's': a string cannot be compared with a number, in: s in (1, 2)",
        ),
        ("n", "column 'n': a number is not a condition; compare it, in: n"),
        ("contains(n, 'x')", "column 'n': a number where a string is needed, in: contains(n, 'x')"),
        ("lower(l) == 'x'", "column 'l': a list where a string is needed, in: lower(l) == 'x'"),
        ("s + 1 > 2", "column 's': a string where a number is needed, in: s + 1 > 2"),
        ("-s > 2", "column 's': a string where a number is needed, in: -s > 2"),
        (
            "n + huge > 2",
            "column 'huge': an integer of more than 127 bits cannot be computed with, in: n + huge > 2",
        ),
        ("n + s > 2", "column 's': a string where a number is needed, in: n + s > 2"),
        (
            "s + s == 'xx'",
            "column 's': +, -, *, /, // and % are for numbers, and their result cannot be compared with a string, in: s + \
             s == 'xx'",
        ),
        ("huge + 1 > 2", "an integer of more than 127 bits cannot be computed with, in: huge + 1 > 2"),
        ("len(n) > 2", "column 'n': no length, in: len(n) > 2"),
    ] {
        let error = selects(expression, row).unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn what_does_not_parse_shows_its_place() {
    for (expression, expected) in [
        ("", "column 1 of the expression, at its end: a value is missing"),
        ("n >", "column 4 of the expression, at its end: a value is missing"),
        ("n > > 3", "column 5 of the expression, at '> 3': a value is missing before this"),
        ("größe = 3", "column 7 of the expression, at '= 3': write == in place of ="),
        ("n <> 3", "column 3 of the expression, at '<> 3': write != in place of <>"),
        ("n > 1 && n < 3", "column 7 of the expression, at '&& n < 3': write and in place of &&"),
        ("n > 1 | n < 3", "column 7 of the expression, at '| n < 3': write or in place of |"),
        ("!n", "column 1 of the expression, at '!n': write not in place of !"),
        ("`n` > 3", "column 1 of the expression, at '`n` > 3': names are quoted by \", as in meta.\"a.b\""),
        ("n ? 3", "column 3 of the expression, at '? 3': '?' has no meaning here"),
        ("n > 3 n < 4", "column 7 of the expression, at 'n < 4': an operator is missing before this"),
        ("n > 3)", "column 6 of the expression, at ')': an operator is missing before this"),
        ("(n > 3", "column 7 of the expression, at its end: ) is missing"),
        ("n == true", "at 'true': write True; a column of this name is written \"true\""),
        ("n == None", "at 'None': nothing is equal to None; write is None or is not None"),
        ("None == n", "column 1 of the expression, at 'None == n': None stands only behind is or is not"),
        ("n is 3", "at '3': is must be followed by None; write == for other values"),
        (
            "n + 1 is None",
            "column 1 of the expression, at 'n + 1 is None': is None asks about a column or path",
        ),
        ("n not 3", "column 7 of the expression, at '3': in is missing behind not"),
        ("n in 3", "column 6 of the expression, at '3': in takes a list such as ('a', 'b')"),
        ("'a' in s", "to look into a string write contains(caption, 'dog')"),
        ("n in (1, 'a')", "at ''a')': strings and numbers in one list; write two conditions"),
        ("n in (1, None)", "at 'None)': None in a list; write is None as a condition of its own"),
        ("n in (1, m)", "at 'm)': the list behind in holds only numbers, strings and bools"),
        ("n in (1 2)", "column 9 of the expression, at '2)': a comma or ) is missing"),
        ("n in [1", "column 8 of the expression, at its end: a comma or ] is missing"),
        ("1 < n in (1, 2)", "at 'in (1, 2)': write and between the two conditions"),
        ("n + 1", "column 1 of the expression, at 'n + 1': a value where a condition is needed"),
        (
            "'n' and True",
            "column 1 of the expression, at ''n' and True': a value where a condition is needed",
        ),
        ("(n > 1) + 1 > 2", "at '(n > 1) + 1 > 2': a condition where a value is needed"),
        ("n ** 2 > 1", "column 3 of the expression, at '** 2 > 1': an operator is missing before this"),
        ("n[0] > 1", "at '[0] > 1': members of dicts are written meta.width; elements of lists have no path"),
        ("s.contains('x')", "at 's.contains('x')': write contains(s, '...')"),
        ("d.s.lower() == 'x'", "write lower(d.s)"),
        ("upper(s) == 'X'", "there are len, lower, contains, startswith, endswith"),
        ("len(n + 1) > 2", "at 'n + 1) > 2': len takes a column or path"),
        ("contains(s)", "contains takes two values, as in contains(caption, 'dog')"),
        ("startswith(s, 'x', 1)", "startswith takes two values"),
        ("s == 'x", "column 6 of the expression, at ''x': the quotes of this string do not close"),
        ("s == '\\d'", "column 7 of the expression, at '\\d'': a backslash begins none of the escapes"),
        ("s == '\\ud800'", "this escape names no character"),
        ("s == '\\x4'", "this escape names no character"),
        ("\"n == 3", "column 1 of the expression, at '\"n == 3': the quotes of this name do not close"),
        ("d.\"n == 3", "the quotes of this name do not close"),
        ("n == 10k", "at '10k': a number with letters behind it"),
        ("n == 0x1f", "a number with letters behind it"),
        ("n == 1.5.2", "column 9 of the expression, at '.2': an operator is missing before this"),
        ("s > 'a' + 1", "a string where a number is needed, in: s > 'a' + 1"),
        ("'a' < 3", "a string cannot be compared with a number, in: 'a' < 3"),
        ("contains(s, 3)", "a number where a string is needed, in: contains(s, 3)"),
        ("-'a' == s", "a string where a number is needed"),
    ] {
        let error = Expression::parse(expression).unwrap_err();
        assert_eq!(error.cause(), Cause::Invalid);
        assert!(error.to_string().contains(expected), "{expression}: {error}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn size_and_depth_are_limited() {
    for deep in [
        format!("{}n > 1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("{}n > 1", "not ".repeat(10_000)),
        format!("{}n > 1", "-".repeat(10_000)),
        format!("n{} > 1", " + 1".repeat(10_000)),
        format!("{}s{} == 'x'", "lower(".repeat(10_000), ")".repeat(10_000)),
    ] {
        let error = Expression::parse(&deep).unwrap_err();
        assert_eq!(error.cause(), Cause::Limit);
        assert!(error.what().contains("inside each other"), "{error}");
    }
    // A number may be long.
    let many: Vec<String> = (0..100_000).map(|i| format!("n == {i}")).collect();
    assert!(selects(&many[..10_000].join(" or "), r#"{"n":9999}"#).unwrap());
    let ids: Vec<String> = (0..100_000).map(|i| format!("'id-{i}'")).collect();
    assert!(selects(&format!("s in ({})", ids.join(",")), r#"{"s":"id-99999"}"#).unwrap());
    let digits = "9".repeat(4300);
    assert!(selects(&format!("n < {digits}"), r#"{"n":1}"#).unwrap());
    assert!(Expression::parse(&format!("n < 9{digits}")).is_err());
    assert_eq!(Expression::parse(&" ".repeat(5 << 20)).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn kinds_that_files_tell_are_checked_first() {
    use ValueKind::{Bool, Container, Number, Text};
    for (names, kind) in [
        (&["int", "null", "float"][..], Some(Number)),
        (&["bool", "null"], Some(Bool)),
        (&["bool", "int8"], Some(Number)),
        (&["str"], Some(Text)),
        (&["list", "bytes"], Some(Container)),
        (&["str", "int"], None),
        (&["null"], None),
        (&[], None),
        (&["pickle"], None),
    ] {
        assert_eq!(ValueKind::common(names.iter().copied()), kind, "{names:?}");
    }
    for (expression, kind, is_fine) in [
        ("x > 3", Number, true),
        ("x > 3", Bool, true),
        ("x > 3", Text, false),
        ("x > 3", Container, false),
        ("x == 'a'", Number, false),
        ("x in ('a', 'b')", Number, false),
        ("x in ()", Container, true),
        ("x", Number, false),
        ("x", Bool, true),
        ("len(x) > 1", Text, true),
        ("len(x) > 1", Container, true),
        ("len(x) > 1", Number, false),
        ("lower(x) == 'a'", Number, false),
        ("startswith(x, 'a')", Container, false),
        ("x + 1 > 1", Text, false),
        ("n == 1 and not (n == 2 or -x > 1)", Text, false),
        ("x is None", Container, true),
    ] {
        let parsed = Expression::parse(expression).unwrap();
        let kinds_of_files: Vec<_> =
            parsed.paths().iter().map(|path| (path.text == "x").then_some(kind)).collect();
        assert_eq!(parsed.check_kinds(&kinds_of_files).is_ok(), is_fine, "{expression} {kind:?}");
    }
}
