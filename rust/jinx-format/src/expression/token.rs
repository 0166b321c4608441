//! Splits an expression into tokens.

use crate::expression::failure::at;
use crate::expression::tree::Literal;
use crate::fields::parse_path;
use jinx_core::error::Result;
use jinx_core::limits::MAX_INT_DIGITS;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    Literal(Literal),
    None,
    /// A path, as the list of its names.
    Path(Vec<String>),
    /// An operator, a bracket or a keyword.
    Sign(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub word: Word,
    /// The position in the text, in bytes.
    pub span: Range<usize>,
}

/// The signs. A longer sign comes before a sign that it starts with.
const SIGNS: [&str; 19] =
    ["==", "!=", "<=", ">=", "//", "**", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", "."];
const WORDS: [&str; 5] = ["and", "or", "not", "in", "is"];

/// Operators of other languages, and what to write instead.
const ELSEWHERE: [(&str, &str); 14] = [
    ("&&", "and"),
    ("&", "and"),
    ("||", "or"),
    ("|", "or"),
    ("<>", "!="),
    ("=", "=="),
    ("!", "not"),
    ("~", "not"),
    ("true", "True"),
    ("false", "False"),
    ("null", "None"),
    ("none", "None"),
    ("NULL", "None"),
    ("AND", "and"),
];

/// The tokens in `text`.
///
/// # Errors
/// `Invalid` for text that is not a token, with its place.
pub fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut list = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let (word, length) = next(text, start)?;
        list.push(Token { word, span: start..start + length });
        start += length;
    }
    Ok(list)
}

/// The token that starts at `start`, and its length in bytes.
fn next(text: &str, start: usize) -> Result<(Word, usize)> {
    let rest = &text[start..];
    let mut letters = rest.chars();
    let (first, second) = (letters.next().unwrap_or_default(), letters.next().unwrap_or_default());
    if first == '\'' {
        return string(text, start);
    }
    if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
        return number(text, start);
    }
    if first == '"' || is_name(first) {
        return name(text, start);
    }
    let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
    let foreign = ELSEWHERE.into_iter().find(|(other, _)| rest.starts_with(other));
    match (sign, foreign) {
        (Some(sign), None) => Ok((Word::Sign(sign), sign.len())),
        (Some(sign), Some((other, _))) if sign.len() > other.len() => Ok((Word::Sign(sign), sign.len())),
        (_, Some((other, ours))) => Err(at(text, start, &format!("write {ours} in place of {other}"))),
        (None, None) if first == '`' => Err(at(text, start, "names are quoted by \", as in meta.\"a.b\"")),
        (None, None) => Err(at(text, start, &format!("{first:?} has no meaning here"))),
    }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Names separated by dots, or a keyword.
fn name(text: &str, start: usize) -> Result<(Word, usize)> {
    let rest = &text[start..];
    let mut length = 0;
    loop {
        length += match rest[length..].starts_with('"') {
            true => quoted(&rest[length..])
                .ok_or_else(|| at(text, start + length, "the quotes of this name do not close"))?,
            false => rest[length..].find(|letter| !is_name(letter)).unwrap_or(rest.len() - length),
        };
        match rest[length..].strip_prefix('.').and_then(|behind| behind.chars().next()) {
            Some(next) if next == '"' || is_name(next) => length += 1,
            _ => break,
        }
    }
    let spelled = &rest[..length];
    if let Some(word) = WORDS.into_iter().find(|word| *word == spelled) {
        return Ok((Word::Sign(word), length));
    }
    let word = match spelled {
        "True" => Word::Literal(Literal::Bool(true)),
        "False" => Word::Literal(Literal::Bool(false)),
        "None" => Word::None,
        _ => match ELSEWHERE.into_iter().find(|(other, _)| *other == spelled) {
            Some((other, ours)) => {
                let what = format!("write {ours}; a column of this name is written \"{other}\"");
                return Err(at(text, start, &what));
            }
            None => Word::Path(parse_path(spelled).map_err(|error| at(text, start, error.what()))?),
        },
    };
    Ok((word, length))
}

/// The bytes of a quoted name, including its quotes. Two quotes in a row stand for one.
fn quoted(text: &str) -> Option<usize> {
    let mut end = 1;
    loop {
        end += text[end..].find('"')? + 1;
        if !text[end..].starts_with('"') {
            return Some(end);
        }
        end += 1;
    }
}

fn number(text: &str, start: usize) -> Result<(Word, usize)> {
    let rest = &text[start..];
    let digits = |from: usize| {
        rest[from..].find(|c: char| !c.is_ascii_digit() && c != '_').map_or(rest.len(), |at| from + at)
    };
    let mut end = digits(0);
    let mut is_float = false;
    if rest[end..].starts_with('.') {
        (end, is_float) = (digits(end + 1), true);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let behind = digits(end + 1 + sign);
        if behind > end + 1 + sign {
            (end, is_float) = (behind, true);
        }
    }
    if rest[end..].starts_with(is_name) {
        return Err(at(text, start, "a number with letters behind it; put a name that begins so in quotes"));
    }
    let plain: String = rest[..end].chars().filter(|c| *c != '_').collect();
    let literal = if is_float {
        Literal::Float(plain.parse().map_err(|_| at(text, start, "this is not a number"))?)
    } else if plain.len() > MAX_INT_DIGITS {
        return Err(at(text, start, &format!("an integer of more than {MAX_INT_DIGITS} digits")));
    } else {
        integer(&plain)
    };
    Ok((Word::Literal(literal), end))
}

fn integer(digits: &str) -> Literal {
    match digits.parse() {
        Ok(value) => Literal::Int(value),
        Err(_) => Literal::Huge(digits.trim_start_matches('0').to_owned()),
    }
}

/// A string between single quotes.
fn string(text: &str, start: usize) -> Result<(Word, usize)> {
    let mut value = String::new();
    let mut letters = text[start + 1..].char_indices();
    while let Some((offset, letter)) = letters.next() {
        match letter {
            '\'' => return Ok((Word::Literal(Literal::Text(value)), offset + 2)),
            '\\' => {
                let place = start + 1 + offset;
                let (meant, length) = escaped(&text[place + 1..]).map_err(|what| at(text, place, what))?;
                value.push(meant);
                // All characters of an escape are single bytes.
                for _ in 0..length {
                    letters.next();
                }
            }
            letter => value.push(letter),
        }
    }
    Err(at(text, start, "the quotes of this string do not close"))
}

/// The character that an escape stands for, and the length of the escape without its backslash.
fn escaped(rest: &str) -> std::result::Result<(char, usize), &'static str> {
    let hex = |digits: usize| {
        let code = rest.get(1..=digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let letter = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        letter.map(|letter| (letter, digits + 1)).ok_or("this escape names no character")
    };
    match rest.chars().next() {
        Some(letter @ ('\\' | '\'' | '"')) => Ok((letter, 1)),
        Some('n') => Ok(('\n', 1)),
        Some('t') => Ok(('\t', 1)),
        Some('r') => Ok(('\r', 1)),
        Some('x') => hex(2),
        Some('u') => hex(4),
        Some('U') => hex(8),
        _ => Err("a backslash begins none of the escapes; write \\\\ for a backslash"),
    }
}
