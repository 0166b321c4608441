//! N-gram language models with back-off from ARPA files, and the probabilities that they give texts.

use crate::per_text::fill;
use crate::trie::{BEGIN, END, ROOT, Trie, UNKNOWN, Units, for_each_unit};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::interrupt;
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// The largest order of a model.
pub const MAX_ORDER: usize = 10;
/// The maximum number of bytes in a line of an ARPA file. Ten words need far less, and other kinds of files are
/// rejected early.
const MAX_LINE: u64 = 1 << 16;
/// The decimal logarithm of an unknown word's probability if the model has none, as KenLM has it.
const NO_PROBABILITY: f32 = -100.0;
const LINES_PER_CHECK: u64 = 1 << 16;

#[derive(Clone, Copy, Default)]
struct Weights {
    /// The decimal logarithm of the probability; `backoff` is one too.
    probability: f32,
    backoff: f32,
}

/// A model in memory.
pub struct Model {
    order: usize,
    words: HashMap<Box<str>, u32>,
    ngrams: Trie,
    /// The weights of the nodes.
    weights: Vec<Weights>,
}

impl Model {
    /// Reads an ARPA file.
    ///
    /// # Errors
    /// `Corrupt` if it is not an ARPA file, `Truncated` if its end is missing; both name the line. Errors of reading.
    pub fn read(file: impl BufRead) -> Result<Self> {
        let mut lines = Lines { file, number: 0, line: Vec::new() };
        let counts = read_counts(&mut lines)?;
        let mut model = Self {
            order: counts.len(),
            words: HashMap::new(),
            ngrams: Trie::default(),
            weights: vec![Weights::default()],
        };
        for (order, &expected) in (1..).zip(&counts) {
            let mut count = 0_u64;
            while let Some(line) = lines.next()? {
                if line.is_empty() {
                    continue;
                }
                if line.starts_with('\\') {
                    break;
                }
                let added = model.add(line, order);
                added.map_err(|what| lines.corrupt(&what))?;
                count += 1;
            }
            let wanted =
                counts.get(order).map_or("\\end\\".to_owned(), |_| format!("\\{}-grams:", order + 1));
            if lines.text() != wanted {
                return Err(Error::truncated(format!("{wanted} is missing")).in_line(lines.number));
            }
            if count != expected {
                return Err(lines.corrupt(&format!("{count} {order}-grams, but its head says {expected}")));
            }
        }
        Ok(model)
    }

    /// The number of words in its longest n-grams.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The number of words in the model, including marks such as `<s>`.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    fn add(&mut self, line: &str, order: usize) -> std::result::Result<(), String> {
        let mut parts = line.split([' ', '\t']).filter(|part| !part.is_empty());
        let mut node = ROOT;
        let probability = number(parts.next())?;
        for at in 1..=order {
            let word = parts.next().ok_or_else(|| format!("an n-gram of fewer than {order} words"))?;
            let id = match self.words.get(word) {
                Some(&id) => id,
                None if order > 1 => return Err(format!("the word {word:?} is not among its 1-grams")),
                None => {
                    let next = u32::try_from(self.words.len()).map_err(|_| "too many words".to_owned())?;
                    *self.words.entry(word.into()).or_insert(next)
                }
            };
            if at == order {
                node = self.ngrams.insert(node, id).map_err(|error| error.what().to_owned())?.0;
            } else {
                node = self
                    .ngrams
                    .child(node, id)
                    .ok_or_else(|| format!("the first {at} words are not an n-gram of the file"))?;
            }
        }
        let backoff = parts.next().map_or(Ok(0.0), |part| number(Some(part)))?;
        if parts.next().is_some() {
            return Err(format!("more than {order} words and two numbers"));
        }
        let at = usize::try_from(node).map_err(|_| "too many n-grams".to_owned())?;
        if at >= self.weights.len() {
            self.weights.resize(at + 1, Weights::default());
        }
        if let Some(weights) = self.weights.get_mut(at) {
            *weights = Weights { probability, backoff };
        }
        Ok(())
    }

    fn weights(&self, node: u32) -> Weights {
        usize::try_from(node).ok().and_then(|at| self.weights.get(at)).copied().unwrap_or_default()
    }

    /// The decimal logarithm of a word's probability. `contexts` has the nodes of the last 0, 1, 2, ... words, if the
    /// model has them. They are replaced by the nodes that end with this word.
    fn step(&self, contexts: &mut Vec<Option<u32>>, next: &mut Vec<Option<u32>>, word: Option<u32>) -> f64 {
        next.clear();
        next.push(Some(ROOT));
        let mut probability = None;
        let mut backoff = 0.0;
        for &context in contexts.iter().take(self.order) {
            let node = context.zip(word).and_then(|(context, word)| self.ngrams.child(context, word));
            if let Some(node) = node {
                probability = Some(self.weights(node).probability);
                backoff = 0.0;
            } else if let Some(context) = context {
                backoff += f64::from(self.weights(context).backoff);
            }
            next.push(node);
        }
        std::mem::swap(contexts, next);
        f64::from(probability.unwrap_or(NO_PROBABILITY)) + backoff
    }

    fn id(&self, word: &str) -> Option<u32> {
        self.words.get(word).or_else(|| self.words.get(UNKNOWN)).copied()
    }

    fn start(&self, contexts: &mut Vec<Option<u32>>) {
        contexts.clear();
        contexts.push(Some(ROOT));
        if let Some(node) = self.words.get(BEGIN).and_then(|&id| self.ngrams.child(ROOT, id)) {
            contexts.push(Some(node));
        }
    }
}

/// Two numbers per text, one after the other: the decimal logarithm of its probability, and its number of words.
///
/// Each line of a text is a sentence. The end of a sentence counts as a word. Lines without words do not count.
///
/// # Errors
/// The errors of `per_text::fill`.
pub fn score(texts: &[&str], model: &Model, units: Units, threads: usize) -> Result<Vec<f64>> {
    let state = || (Vec::new(), Vec::new());
    fill(texts, 2, 0.0, threads, state, |(contexts, next), text, row| {
        let (mut sum, mut words) = (0.0, 0_u32);
        for line in text.lines() {
            let mut is_empty = true;
            model.start(contexts);
            // The closure cannot fail.
            let _ = for_each_unit(line, units, |word| {
                is_empty = false;
                sum += model.step(contexts, next, model.id(word));
                words = words.saturating_add(1);
                Ok(())
            });
            if !is_empty {
                sum += model.step(contexts, next, model.id(END));
                words = words.saturating_add(1);
            }
        }
        if let [total, count] = row {
            (*total, *count) = (sum, f64::from(words));
        }
    })
}

fn number(part: Option<&str>) -> std::result::Result<f32, String> {
    let part = part.ok_or_else(|| "a number is missing".to_owned())?;
    let parsed: std::result::Result<f32, _> = part.parse();
    parsed.ok().filter(|value| value.is_finite()).ok_or_else(|| format!("{part:?} is not a number"))
}

/// Reads the header, with the number of n-grams of each order.
fn read_counts<R: BufRead>(lines: &mut Lines<R>) -> Result<Vec<u64>> {
    let not_arpa = "not an ARPA file, which starts with \\data\\; KenLM's binary files are made from one";
    loop {
        match lines.next() {
            Ok(Some("")) => {}
            Ok(Some("\\data\\")) => break,
            _ => return Err(lines.corrupt(not_arpa)),
        }
    }
    let mut counts = Vec::new();
    loop {
        let Some(line) = lines.next()? else {
            return Err(Error::truncated("\\1-grams: is missing".to_owned()).in_line(lines.number));
        };
        if line == "\\1-grams:" && !counts.is_empty() {
            return Ok(counts);
        }
        let pair = line.strip_prefix("ngram").and_then(|rest| rest.split_once('='));
        let parsed = pair.and_then(|(order, count)| {
            Some((order.trim().parse::<u64>().ok()?, count.trim().parse::<u64>().ok()?))
        });
        match parsed {
            Some((order, count)) if to_u64(counts.len()) + 1 == order && counts.len() < MAX_ORDER => {
                counts.push(count);
            }
            None if line.is_empty() => {}
            _ => return Err(lines.corrupt("a head that does not count the n-grams of orders 1, 2, ...")),
        }
    }
}

struct Lines<R> {
    file: R,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The next line, without white space at its ends; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<&str>> {
        self.line.clear();
        let read = (&mut self.file).take(MAX_LINE).read_until(b'\n', &mut self.line);
        let size =
            read.map_err(|error| Error::new(Cause::Io(error.kind()), format!("cannot be read: {error}")))?;
        if size == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.number.is_multiple_of(LINES_PER_CHECK) {
            interrupt::check()?;
        }
        if to_u64(size) == MAX_LINE {
            return Err(self.corrupt("a line of more than 65,535 bytes"));
        }
        if std::str::from_utf8(&self.line).is_err() {
            return Err(self.corrupt("not UTF-8"));
        }
        Ok(Some(self.text()))
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.line).unwrap_or_default().trim_matches([' ', '\t', '\r', '\n'])
    }

    fn corrupt(&self, what: &str) -> Error {
        Error::corrupt(what.to_owned()).in_line(self.number)
    }
}
