//! Parses an expression into a tree. The grammar is a subset of Python's, with Python's precedence.

use crate::expression::failure::at;
use crate::expression::token::{Token, Word, tokens};
use crate::expression::tree::{Comparison, Condition, Literal, Operand, Operator, Search, Test, TestKind};
use jinx_core::error::{Error, Result};
use jinx_core::limits::{MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH};
use std::ops::Range;

/// A path as written, and the names in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathText {
    pub text: String,
    pub names: Vec<String>,
}

/// Parses an expression. Also returns its paths, each once.
///
/// # Errors
/// `Invalid` with the place of the mistake; `Limit` if it is too long or nested too deeply.
pub fn parse(text: &str) -> Result<(Condition, Vec<PathText>)> {
    if text.len() > MAX_EXPRESSION_BYTES {
        return Err(Error::limit(format!(
            "an expression of {} bytes; {MAX_EXPRESSION_BYTES} are allowed, join a longer list as a column",
            text.len()
        )));
    }
    let mut parser = Parser { text, tokens: tokens(text)?, next: 0, depth: 0, paths: Vec::new() };
    let node = parser.any()?;
    let condition = parser.condition(node)?;
    match parser.tokens.get(parser.next) {
        Some(token) => Err(at(text, token.span.start, "an operator is missing before this")),
        None => Ok((condition, parser.paths)),
    }
}

/// A parsed part of the expression, with its position.
struct Node {
    form: NodeForm,
    span: Range<usize>,
}

enum NodeForm {
    Condition(Condition),
    /// An operand, and its nesting depth.
    Operand(Operand, usize),
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    paths: Vec<PathText>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Word> {
        self.tokens.get(self.next).map(|token| &token.word)
    }

    /// The start position of the next token.
    fn place(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |token| token.span.start)
    }

    /// The end position of the previous token.
    fn end(&self) -> usize {
        self.next.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |token| token.span.end)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Word::Sign(other)) if *other == sign);
        self.next += usize::from(is_next);
        is_next
    }

    /// Consumes one of several signs, and returns its meaning.
    fn take_one<T: Copy>(&mut self, signs: &[(&str, T)]) -> Option<T> {
        signs.iter().find(|(sign, _)| self.take(sign)).map(|(_, meaning)| *meaning)
    }

    fn expect(&mut self, sign: &str, what: &str) -> Result<()> {
        if self.take(sign) { Ok(()) } else { Err(at(self.text, self.place(), what)) }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.check_depth(self.depth)?;
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn check_depth(&self, depth: usize) -> Result<()> {
        if depth < MAX_EXPRESSION_DEPTH {
            return Ok(());
        }
        let what = format!("more than {MAX_EXPRESSION_DEPTH} operations inside each other");
        Err(Error::limit(at(self.text, self.place(), &what).what()))
    }

    fn condition(&self, node: Node) -> Result<Condition> {
        match node.form {
            NodeForm::Condition(condition) => Ok(condition),
            NodeForm::Operand(Operand::Path(path), _) => {
                Ok(Condition::Test(Test { kind: TestKind::IsTrue(path), span: node.span }))
            }
            NodeForm::Operand(Operand::Literal(Literal::Bool(value)), _) => Ok(Condition::Constant(value)),
            NodeForm::Operand(..) => {
                let what = "a value where a condition is needed; compare it, for instance with == or >";
                Err(at(self.text, node.span.start, what))
            }
        }
    }

    fn operand(&self, node: Node) -> Result<(Operand, usize)> {
        match node.form {
            NodeForm::Operand(operand, depth) => Ok((operand, depth)),
            NodeForm::Condition(_) => {
                let what = "a condition where a value is needed; join conditions by and, or, not";
                Err(at(self.text, node.span.start, what))
            }
        }
    }

    fn node(&self, start: usize, form: NodeForm) -> Node {
        Node { form, span: start..self.end() }
    }

    fn any(&mut self) -> Result<Node> {
        self.joined("or", Self::all, Condition::Any)
    }

    fn all(&mut self) -> Result<Node> {
        self.joined("and", Self::inverted, Condition::All)
    }

    fn joined(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Node>,
        join: fn(Vec<Condition>) -> Condition,
    ) -> Result<Node> {
        let start = self.place();
        let first = part(self)?;
        if !matches!(self.peek(), Some(Word::Sign(sign)) if *sign == word) {
            return Ok(first);
        }
        let mut parts = vec![self.condition(first)?];
        while self.take(word) {
            let next = part(self)?;
            parts.push(self.condition(next)?);
        }
        Ok(self.node(start, NodeForm::Condition(join(parts))))
    }

    fn inverted(&mut self) -> Result<Node> {
        let start = self.place();
        if !self.take("not") {
            return self.comparison();
        }
        let inner = self.deeper(Self::inverted)?;
        let condition = Condition::Not(Box::new(self.condition(inner)?));
        Ok(self.node(start, NodeForm::Condition(condition)))
    }

    fn comparison(&mut self) -> Result<Node> {
        let start = self.place();
        let first = self.sum()?;
        if self.take("is") {
            let is_not = self.take("not");
            self.none()?;
            let NodeForm::Operand(Operand::Path(path), _) = first.form else {
                let what = "is None asks about a column or path";
                return Err(at(self.text, first.span.start, what));
            };
            return Ok(self.test(start, TestKind::IsNone(path), is_not));
        }
        let is_not_in = matches!(self.peek(), Some(Word::Sign("not")));
        self.next += usize::from(is_not_in);
        if self.take("in") {
            let value = self.operand(first)?.0;
            let items = self.list(&value)?;
            return Ok(self.test(start, TestKind::In(value, items), is_not_in));
        }
        if is_not_in {
            return Err(at(self.text, self.place(), "in is missing behind not"));
        }
        self.chain(start, first)
    }

    /// Parses a chain: `0 < x < 1` means `0 < x and x < 1`.
    fn chain(&mut self, start: usize, first: Node) -> Result<Node> {
        let (mut left_start, mut left) = (start, first);
        let mut tests = Vec::new();
        while let Some(comparison) = self.take_one(&[
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ]) {
            let right_start = self.place();
            if self.peek() == Some(&Word::None) {
                let what = "nothing is equal to None; write is None or is not None";
                return Err(at(self.text, right_start, what));
            }
            let right = self.sum()?;
            let span = right.span.clone();
            let (right, depth) = self.operand(right)?;
            let kind = TestKind::Compare(self.operand(left)?.0, comparison, right.clone());
            tests.push(Condition::Test(Test { kind, span: left_start..span.end }));
            (left_start, left) = (right_start, Node { form: NodeForm::Operand(right, depth), span });
        }
        if matches!(self.peek(), Some(Word::Sign("in" | "is"))) && !tests.is_empty() {
            return Err(at(self.text, self.place(), "write and between the two conditions"));
        }
        let condition = match tests.len() {
            0 => return Ok(left),
            1 => tests.remove(0),
            _ => Condition::All(tests),
        };
        Ok(self.node(start, NodeForm::Condition(condition)))
    }

    fn test(&self, start: usize, kind: TestKind, negated: bool) -> Node {
        let test = Condition::Test(Test { kind, span: start..self.end() });
        let condition = if negated { Condition::Not(Box::new(test)) } else { test };
        self.node(start, NodeForm::Condition(condition))
    }

    fn none(&mut self) -> Result<()> {
        match self.peek() {
            Some(Word::None) => {
                self.next += 1;
                Ok(())
            }
            _ => Err(at(self.text, self.place(), "is must be followed by None; write == for other values")),
        }
    }

    /// The values after `in`. They must be literals of one kind.
    fn list(&mut self, value: &Operand) -> Result<Vec<Literal>> {
        let place = self.place();
        let Some(close) = self.take_one(&[("(", ")"), ("[", "]")]) else {
            let what = match value {
                Operand::Literal(Literal::Text(_)) => {
                    "in takes a list such as ('a', 'b'); to look into a string write contains(caption, 'dog')"
                }
                _ => "in takes a list such as ('a', 'b')",
            };
            return Err(at(self.text, place, what));
        };
        let mut items = Vec::new();
        while !self.take(close) {
            let place = self.place();
            let item = self.item()?;
            if let Some(first) = items.first()
                && is_text(first) != is_text(&item)
            {
                return Err(at(self.text, place, "strings and numbers in one list; write two conditions"));
            }
            items.push(item);
            if !self.take(",") {
                self.expect(close, &format!("a comma or {close} is missing"))?;
                break;
            }
        }
        Ok(items)
    }

    fn item(&mut self) -> Result<Literal> {
        let place = self.place();
        if self.peek() == Some(&Word::None) {
            return Err(at(self.text, place, "None in a list; write is None as a condition of its own"));
        }
        let node = self.signed()?;
        match self.operand(node)?.0 {
            Operand::Literal(literal) => Ok(literal),
            _ => Err(at(self.text, place, "the list behind in holds only numbers, strings and bools")),
        }
    }

    fn sum(&mut self) -> Result<Node> {
        self.arithmetic(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<Node> {
        let signs = [
            ("*", Operator::Multiply),
            ("//", Operator::FloorDivide),
            ("/", Operator::Divide),
            ("%", Operator::Modulo),
        ];
        self.arithmetic(&signs, Self::signed)
    }

    fn arithmetic(
        &mut self,
        signs: &[(&str, Operator)],
        part: fn(&mut Self) -> Result<Node>,
    ) -> Result<Node> {
        let start = self.place();
        let mut left = part(self)?;
        while let Some(operator) = self.take_one(signs) {
            let right = part(self)?;
            let ((left_side, left_depth), (right_side, right_depth)) =
                (self.operand(left)?, self.operand(right)?);
            let depth = 1 + left_depth.max(right_depth);
            self.check_depth(depth)?;
            let operand = Operand::Arithmetic(Box::new(left_side), operator, Box::new(right_side));
            left = self.node(start, NodeForm::Operand(operand, depth));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Node> {
        let start = self.place();
        let Some(is_minus) = self.take_one(&[("-", true), ("+", false)]) else { return self.atom() };
        let inner = self.deeper(Self::signed)?;
        let (operand, depth) = self.operand(inner)?;
        let form = match operand {
            // Parse the sign as part of the literal, so that the smallest integer is a literal.
            Operand::Literal(literal) if is_minus && !matches!(literal, Literal::Text(_)) => {
                NodeForm::Operand(Operand::Literal(negated(literal)), depth)
            }
            operand if is_minus => NodeForm::Operand(Operand::Negated(Box::new(operand)), depth + 1),
            operand => NodeForm::Operand(operand, depth),
        };
        Ok(self.node(start, form))
    }

    fn atom(&mut self) -> Result<Node> {
        let start = self.place();
        let Some(token) = self.tokens.get(self.next) else {
            return Err(at(self.text, start, "a value is missing"));
        };
        let (word, span) = (token.word.clone(), token.span.clone());
        match word {
            Word::Literal(literal) => {
                self.next += 1;
                Ok(self.node(start, NodeForm::Operand(Operand::Literal(literal), 1)))
            }
            Word::Path(names) => {
                self.next += 1;
                match self.peek() {
                    Some(Word::Sign("(")) => self.call(&self.text[span], names, start),
                    Some(Word::Sign("[")) => {
                        let what = "members of dicts are written meta.width; elements of lists have no path";
                        Err(at(self.text, self.place(), what))
                    }
                    _ => {
                        let path = self.path(&self.text[span], names);
                        Ok(self.node(start, NodeForm::Operand(Operand::Path(path), 1)))
                    }
                }
            }
            Word::Sign("(") => {
                self.next += 1;
                let inner = self.deeper(Self::any)?;
                self.expect(")", ") is missing")?;
                Ok(self.node(start, inner.form))
            }
            Word::None => Err(at(self.text, start, "None stands only behind is or is not")),
            Word::Sign("**") => Err(at(self.text, start, "there is no power; multiply")),
            Word::Sign(_) => Err(at(self.text, start, "a value is missing before this")),
        }
    }

    /// The number of a path, which is added if it is new.
    fn path(&mut self, text: &str, names: Vec<String>) -> usize {
        if let Some(position) = self.paths.iter().position(|path| path.text == text) {
            return position;
        }
        self.paths.push(PathText { text: text.to_owned(), names });
        self.paths.len() - 1
    }

    /// A function call. Its name has been read; its arguments come next.
    fn call(&mut self, name: &str, mut names: Vec<String>, start: usize) -> Result<Node> {
        let search = |name: &str| match name {
            "contains" => Some(Search::Contains),
            "startswith" => Some(Search::StartsWith),
            "endswith" => Some(Search::EndsWith),
            _ => None,
        };
        if names.len() > 1
            && let Some(method) = names.pop()
            && (search(&method).is_some() || method == "lower")
        {
            let path = name.strip_suffix(&method).map_or(name, |path| path.trim_end_matches('.'));
            let argument = if method == "lower" { "" } else { ", '...'" };
            return Err(at(self.text, start, &format!("write {method}({path}{argument})")));
        }
        self.next += 1;
        match (name, search(name)) {
            ("len", _) => {
                let place = self.place();
                let argument = self.deeper(Self::sum)?;
                let (Operand::Path(path), _) = self.operand(argument)? else {
                    return Err(at(self.text, place, "len takes a column or path"));
                };
                self.expect(")", ") is missing")?;
                Ok(self.node(start, NodeForm::Operand(Operand::Length(path), 1)))
            }
            ("lower", _) => {
                let argument = self.deeper(Self::sum)?;
                let (operand, depth) = self.operand(argument)?;
                self.check_depth(depth + 1)?;
                self.expect(")", ") is missing")?;
                Ok(self.node(start, NodeForm::Operand(Operand::Lower(Box::new(operand)), depth + 1)))
            }
            (_, Some(search)) => {
                let text = self.deeper(Self::sum)?;
                let what = format!("{name} takes two values, as in {name}(caption, 'dog')");
                self.expect(",", &what)?;
                let part = self.deeper(Self::sum)?;
                self.expect(")", &what)?;
                let kind = TestKind::Search(search, self.operand(text)?.0, self.operand(part)?.0);
                Ok(self.test(start, kind, false))
            }
            _ => {
                let what = "there is no such function; there are len, lower, contains, startswith, endswith";
                Err(at(self.text, start, what))
            }
        }
    }
}

fn negated(literal: Literal) -> Literal {
    let huge = |digits: String| digits.parse().map_or(Literal::Huge(digits), Literal::Int);
    match literal {
        Literal::Bool(value) => Literal::Int(-i128::from(value)),
        Literal::Int(value) => {
            value.checked_neg().map_or_else(|| huge(value.unsigned_abs().to_string()), Literal::Int)
        }
        Literal::Huge(digits) => {
            huge(digits.strip_prefix('-').map_or_else(|| format!("-{digits}"), str::to_owned))
        }
        Literal::Float(value) => Literal::Float(-value),
        text @ Literal::Text(_) => text,
    }
}

fn is_text(literal: &Literal) -> bool {
    matches!(literal, Literal::Text(_))
}
