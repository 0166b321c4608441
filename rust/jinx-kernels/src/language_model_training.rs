//! Trains n-gram language models with interpolated modified Kneser-Ney smoothing (Chen and Goodman, 1998).

use crate::language_model::MAX_ORDER;
use crate::trie::{BEGIN, END, ROOT, Trie, UNKNOWN, Units, for_each_unit};
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use std::collections::HashMap;
use std::io::Write;

/// The decimal logarithm that is written as the probability of `<s>`, which never comes after a word.
const NEVER: f64 = -99.0;

struct Node {
    parent: u32,
    word: u32,
    /// The n-gram without its first word.
    suffix: u32,
    order: usize,
    count: u64,
    /// The number of different words that come before it.
    before: u64,
}

/// Counts of the n-grams in texts.
pub struct Counts {
    order: usize,
    units: Units,
    ids: HashMap<Box<str>, u32>,
    words: Vec<Box<str>>,
    ngrams: Trie,
    nodes: Vec<Node>,
}

impl Counts {
    /// # Errors
    /// `Invalid` for an order that is not 1 to 10.
    pub fn new(order: usize, units: Units) -> Result<Self> {
        if order == 0 || order > MAX_ORDER {
            return Err(Error::invalid(format!("an order of {order}; it is 1 to {MAX_ORDER}")));
        }
        let root = Node { parent: ROOT, word: 0, suffix: ROOT, order: 0, count: 0, before: 0 };
        let (ids, words, ngrams) = (HashMap::new(), Vec::new(), Trie::default());
        Ok(Self { order, units, ids, words, ngrams, nodes: vec![root] })
    }

    /// Counts the n-grams in each line of the texts. Lines without words do not count.
    ///
    /// # Errors
    /// `Limit` for more than 4 billion n-grams or words; `Interrupted`.
    pub fn add(&mut self, texts: &[&str]) -> Result<()> {
        let mut contexts = Vec::new();
        let mut line_words = Vec::new();
        for line in texts.iter().flat_map(|text| text.lines()) {
            interrupt::check()?;
            line_words.clear();
            line_words.push(self.id(BEGIN)?);
            for_each_unit(line, self.units, |word| {
                line_words.push(self.id(word)?);
                Ok(())
            })?;
            if line_words.len() == 1 {
                continue;
            }
            line_words.push(self.id(END)?);
            contexts.clear();
            contexts.push(ROOT);
            for &word in &line_words {
                contexts = self.count(&contexts, word)?;
            }
        }
        Ok(())
    }

    /// Counts a word after `contexts`, the nodes of the last 0, 1, 2, ... words. Returns the nodes that end with it.
    fn count(&mut self, contexts: &[u32], word: u32) -> Result<Vec<u32>> {
        let mut next = vec![ROOT];
        let mut suffix = ROOT;
        for (order, &parent) in (1..).zip(contexts.iter().take(self.order)) {
            let (node, is_new) = self.ngrams.insert(parent, word)?;
            if is_new {
                self.nodes.push(Node { parent, word, suffix, order, count: 0, before: 0 });
                self.node(suffix)?.before += 1;
            }
            self.node(node)?.count += 1;
            next.push(node);
            suffix = node;
        }
        Ok(next)
    }

    fn node(&mut self, node: u32) -> Result<&mut Node> {
        let at = to_usize(u64::from(node), "the number of an n-gram")?;
        self.nodes.get_mut(at).ok_or_else(|| Error::invalid("no such n-gram".to_owned()))
    }

    fn id(&mut self, word: &str) -> Result<u32> {
        if let Some(&id) = self.ids.get(word) {
            return Ok(id);
        }
        let id = u32::try_from(self.words.len()).map_err(|_| Error::limit("too many words".to_owned()))?;
        self.words.push(word.into());
        self.ids.insert(word.into(), id);
        Ok(id)
    }

    /// Writes the model as an ARPA file.
    ///
    /// # Errors
    /// `Invalid` if no text has a word; errors of writing.
    pub fn write(&self, out: &mut impl Write) -> Result<()> {
        let Some((&begin, true)) = self.ids.get(BEGIN).map(|id| (id, self.nodes.len() > 1)) else {
            return Err(Error::invalid("no text has a word to learn from".to_owned()));
        };
        let estimates = Estimates::new(self, begin);
        self.write_arpa(out, &estimates, begin)
            .map_err(|error| Error::invalid(format!("the model cannot be written: {error}")))
    }

    fn write_arpa(&self, out: &mut impl Write, estimates: &Estimates, begin: u32) -> std::io::Result<()> {
        let is_unknown_counted = self.ids.contains_key(UNKNOWN);
        writeln!(out, "\\data\\")?;
        for order in 1..=self.order {
            let count = self.nodes.iter().filter(|node| node.order == order).count();
            let unknown = usize::from(order == 1 && !is_unknown_counted);
            writeln!(out, "ngram {order}={}", count + unknown)?;
        }
        for order in 1..=self.order {
            writeln!(out, "\n\\{order}-grams:")?;
            if order == 1 && !is_unknown_counted {
                writeln!(out, "{:.7}\t{UNKNOWN}\t0", estimates.unknown.log10())?;
            }
            let all = self.nodes.iter().zip(&estimates.of_nodes);
            for (node, estimate) in all.filter(|(node, _)| node.order == order) {
                let is_begin = order == 1 && node.word == begin;
                let probability = if is_begin { NEVER } else { estimate.probability.log10() };
                write!(out, "{probability:.7}\t")?;
                self.write_words(out, node)?;
                if order < self.order {
                    let backoff = if estimate.total > 0.0 { estimate.backoff().log10() } else { 0.0 };
                    write!(out, "\t{backoff:.7}")?;
                }
                writeln!(out)?;
            }
        }
        writeln!(out, "\n\\end\\")
    }

    fn write_words(&self, out: &mut impl Write, node: &Node) -> std::io::Result<()> {
        if node.order > 1
            && let Some(parent) = at(&self.nodes, node.parent)
        {
            self.write_words(out, parent)?;
            write!(out, " ")?;
        }
        write!(out, "{}", at(&self.words, node.word).map_or("", |word| word))
    }
}

/// The estimates for an n-gram: its probability as a word after a context, and its back-off as a context.
#[derive(Clone, Default)]
struct Estimate {
    probability: f64,
    /// The sum of the counts of words after this context. `taken` is the sum of their discounts.
    total: f64,
    taken: f64,
}

impl Estimate {
    fn backoff(&self) -> f64 {
        self.taken / self.total
    }
}

struct Estimates {
    of_nodes: Vec<Estimate>,
    unknown: f64,
}

impl Estimates {
    #[allow(clippy::cast_precision_loss)] // counts beyond 2^53 do not occur, and rounding them would not matter
    fn new(counts: &Counts, begin: u32) -> Self {
        let is_counted = |node: &&Node| node.order > 0 && !(node.order == 1 && node.word == begin);
        // The count of a shorter n-gram is the number of different words before it, as Kneser-Ney smoothing requires.
        let adjusted = |node: &Node| {
            if node.order == counts.order || node.before == 0 { node.count } else { node.before }
        };
        let discounts: Vec<[f64; 3]> = (1..=counts.order)
            .map(|order| {
                let of_order = counts.nodes.iter().filter(|node| node.order == order).filter(is_counted);
                discounts(of_order.map(adjusted))
            })
            .collect();
        let discount = |node: &Node| {
            let of_order = discounts.get(node.order.saturating_sub(1)).copied().unwrap_or_default();
            match adjusted(node) {
                0 => 0.0,
                1 => of_order[0],
                2 => of_order[1],
                _ => of_order[2],
            }
        };
        let mut estimates = vec![Estimate::default(); counts.nodes.len()];
        for node in counts.nodes.iter().filter(is_counted) {
            if let Some(context) = usize::try_from(node.parent).ok().and_then(|at| estimates.get_mut(at)) {
                context.total += adjusted(node) as f64;
                context.taken += discount(node);
            }
        }
        let unknown_count = usize::from(!counts.ids.contains_key(UNKNOWN));
        // `<s>` is never predicted.
        let uniform = 1.0 / to_u64(counts.words.len() - 1 + unknown_count) as f64;
        let mut left = 0.0;
        if let Some(root) = estimates.first_mut() {
            root.probability = uniform;
            left = root.backoff();
        }
        // Every node comes after its parent and its suffix.
        for (place, node) in counts.nodes.iter().enumerate().filter(|(_, node)| is_counted(node)) {
            let shorter = at(&estimates, node.suffix).map_or(0.0, |one| one.probability);
            let interpolated = at(&estimates, node.parent).map_or(0.0, |context| {
                (adjusted(node) as f64 - discount(node)) / context.total + context.backoff() * shorter
            });
            if let Some(estimate) = estimates.get_mut(place) {
                estimate.probability = interpolated;
            }
        }
        Self { of_nodes: estimates, unknown: left * uniform }
    }
}

/// The discounts for counts of 1, 2, and 3 or more.
///
/// The discounts are 0.5, 1 and 1.5 if a small or unusual collection gives numbers out of range.
#[allow(clippy::cast_precision_loss)]
fn discounts(counts: impl Iterator<Item = u64>) -> [f64; 3] {
    let mut seen = [0_u64; 4];
    for count in counts {
        let place = usize::try_from(count).ok().and_then(|count| count.checked_sub(1));
        if let Some(number) = place.and_then(|place| seen.get_mut(place)) {
            *number += 1;
        }
    }
    let [one, two, three, four] = seen.map(|number| number as f64);
    let share = one / (one + 2.0 * two);
    let values =
        [1.0 - 2.0 * share * two / one, 2.0 - 3.0 * share * three / two, 3.0 - 4.0 * share * four / three];
    let is_usable = values.iter().zip([1.0, 2.0, 3.0]).all(|(&value, most)| value > 0.0 && value <= most);
    if is_usable { values } else { [0.5, 1.0, 1.5] }
}

fn at<T>(values: &[T], place: u32) -> Option<&T> {
    usize::try_from(place).ok().and_then(|place| values.get(place))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use crate::language_model::{Model, score};

    fn trained(texts: &[&str], order: usize, units: Units) -> Model {
        let mut counts = Counts::new(order, units).unwrap();
        counts.add(texts).unwrap();
        let mut file = Vec::new();
        counts.write(&mut file).unwrap();
        Model::read(file.as_slice()).unwrap()
    }

    #[test]
    fn what_was_seen_is_more_probable() {
        let model = trained(&["the cat sat\nthe dog sat", "a cat ran"], 3, Units::Words);
        assert_eq!((model.order(), model.word_count()), (3, 9));
        let texts = ["the cat sat", "sat cat the", "one two three", "", " \n "];
        let found = score(&texts, &model, Units::Words, 1).unwrap();
        assert!(found[0] > found[2] && found[2] > found[4]);
        assert_eq!(found[1], 4.0);
        assert_eq!(found[6..], [0.0; 4]);
    }

    #[test]
    fn characters() {
        let model = trained(&["ab ab", "你好"], 2, Units::Characters);
        let found = score(&["a b", "好你"], &model, Units::Characters, 1).unwrap();
        assert_eq!([found[1], found[3]], [4.0, 3.0]);
    }

    #[test]
    fn nothing_to_learn_from() {
        let mut counts = Counts::new(2, Units::Words).unwrap();
        counts.add(&["", " \n"]).unwrap();
        assert!(counts.write(&mut Vec::new()).is_err());
        assert!(Counts::new(0, Units::Words).is_err());
    }
}
