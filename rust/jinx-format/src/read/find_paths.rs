//! Finds the values at several paths in one pass over a row.

use crate::fields::FieldNode;
use crate::key::{Chain, FormatVersion};
use crate::read::marked_rows;
use crate::read::shard::Shard;
use jinx_core::error::Result;
use jinx_core::json::markers;
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;
use std::ops::Range;

/// Paths, as a tree of names.
#[derive(Debug, Default)]
pub struct PathTree<'p> {
    names: Vec<PathNode<'p>>,
    paths: usize,
}

#[derive(Debug)]
struct PathNode<'p> {
    name: &'p str,
    /// Whether the name is the same in JSON text.
    is_plain: bool,
    /// The numbers of the paths that end here.
    slots: Vec<usize>,
    below: Vec<Self>,
}

impl PathNode<'_> {
    /// Whether a raw key may have this name. Every key starts with its name, unless it is escaped; most are told apart by
    /// their first byte.
    fn may_be(&self, key: &[u8]) -> bool {
        let (first, name) = (key.first(), self.name.as_bytes());
        first == Some(&b'\\')
            || first == name.first() && (key.starts_with(name) || key.contains(&b'\\'))
            || name.is_empty()
    }

    /// Whether a raw key is this name, which needs no escapes.
    fn is(&self, key: &[u8]) -> bool {
        self.is_plain && key == self.name.as_bytes()
    }

    /// Undoes what was found here and below.
    fn forget<T>(&self, values: &mut [Option<T>]) {
        self.slots.iter().for_each(|slot| values[*slot] = None);
        self.below.iter().for_each(|node| node.forget(values));
    }
}

impl<'p> PathTree<'p> {
    /// A tree of paths with their numbers.
    pub fn new<S: AsRef<str> + 'p>(paths: impl IntoIterator<Item = (usize, &'p [S])>) -> Self {
        let mut tree = Self::default();
        for (slot, path) in paths {
            add(&mut tree.names, path, slot);
            tree.paths = tree.paths.max(slot + 1);
        }
        tree
    }

    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

fn add<'p, S: AsRef<str>>(nodes: &mut Vec<PathNode<'p>>, path: &'p [S], slot: usize) {
    let Some((name, rest)) = path.split_first() else { return };
    let name = name.as_ref();
    let at = nodes.iter().position(|node| node.name == name).unwrap_or_else(|| {
        let is_plain = name.bytes().all(|byte| byte >= b' ' && !matches!(byte, b'\\' | b'"'));
        nodes.push(PathNode { name, is_plain, slots: Vec::new(), below: Vec::new() });
        nodes.len() - 1
    });
    match rest {
        [] => nodes[at].slots.push(slot),
        rest => add(&mut nodes[at].below, rest, slot),
    }
}

/// The position of a value in a line.
#[derive(Debug, Clone, Copy)]
pub struct FoundValue<'l> {
    pub chain: Option<Chain>,
    pub text: &'l [u8],
    /// The member's node in the tree of paths with chains.
    pub node: Option<&'l FieldNode>,
}

/// Members after this many are read without a guess.
const MOST_KNOWN: usize = 64;
/// The maximum number of bytes of a member that are kept, up to its value.
const MOST_START: usize = 256;

/// The members of the last object at a position: most rows have the same keys in the same order, so the next object is
/// compared with these before it is parsed.
#[derive(Debug, Default)]
pub struct KnownMembers {
    members: Vec<KnownMember>,
    /// The members of the objects below each name in a tree of paths.
    below: Vec<Self>,
}

#[derive(Debug)]
struct KnownMember {
    /// The text from the end of the previous member to the value.
    start: Box<[u8]>,
    /// The raw key in `start`.
    key: Range<usize>,
    /// Whether the key may be one of the wanted names.
    may_be_wanted: bool,
}

impl KnownMembers {
    /// The members of the objects below name `at` of the tree.
    fn below(&mut self, at: usize) -> &mut Self {
        if self.below.len() <= at {
            self.below.resize_with(at + 1, Self::default);
        }
        &mut self.below[at]
    }

    /// Replaces member `at`, and drops those after it.
    fn keep(&mut self, at: usize, start: &[u8], key: Range<usize>, may_be_wanted: bool) {
        if at <= self.members.len() && at < MOST_KNOWN && start.len() <= MOST_START {
            self.members.truncate(at);
            self.members.push(KnownMember { start: start.into(), key, may_be_wanted });
        }
    }
}

impl Shard {
    /// The values at the paths of a tree, by their numbers; `None` where there is nothing.
    ///
    /// # Errors
    /// `Corrupt` where the line is not JSON.
    pub fn find_paths<'l>(
        &'l self,
        line: &'l [u8],
        tree: &PathTree<'_>,
    ) -> Result<Vec<Option<FoundValue<'l>>>> {
        self.find_members(line, tree, None)
    }

    /// Like [`Shard::find_paths`], faster for many lines with the same `known` and tree.
    ///
    /// # Errors
    /// The errors of [`Shard::find_paths`].
    pub fn find_paths_like<'l>(
        &'l self,
        line: &'l [u8],
        tree: &PathTree<'_>,
        known: &mut KnownMembers,
    ) -> Result<Vec<Option<FoundValue<'l>>>> {
        self.find_members(line, tree, Some(known))
    }

    fn find_members<'l>(
        &'l self,
        line: &'l [u8],
        tree: &PathTree<'_>,
        known: Option<&mut KnownMembers>,
    ) -> Result<Vec<Option<FoundValue<'l>>>> {
        let mut values = vec![None; tree.paths];
        let is_marked = self.rules() == FormatVersion::Plain && markers::is_marked(line);
        let marked = is_marked.then_some(0);
        self.find_below(line, &tree.names, Some(self.tree()), marked, known, &mut values)?;
        Ok(values)
    }

    /// Finds paths in an object; `marked` is the depth in a row with markers, and `None` in other rows.
    fn find_below<'l>(
        &'l self,
        text: &'l [u8],
        wanted: &[PathNode<'_>],
        tree: Option<&'l FieldNode>,
        marked: Option<usize>,
        mut known: Option<&mut KnownMembers>,
        found: &mut [Option<FoundValue<'l>>],
    ) -> Result<()> {
        let mut left = wanted.len();
        let mut seen = 0u64;
        let mut members = Members::uncounted(text);
        for count in 0.. {
            let before = members.position();
            let guessed = match known.as_ref().and_then(|known| known.members.get(count)) {
                Some(guess) => members.next_like(&guess.start)?.map(|value| (guess, value)),
                None => None,
            };
            let (key, value) = match guessed {
                Some((guess, _)) if !guess.may_be_wanted => continue,
                Some((guess, value)) => (&text[before..][guess.key.clone()], value),
                None => {
                    let Some(span) = members.next_member()? else { break };
                    let (key, value) = (span.key_range(), span.value_range());
                    let may_be_wanted = wanted.iter().any(|node| node.may_be(&text[key.clone()]));
                    if let Some(known) = known.as_deref_mut() {
                        let key_in_start = key.start - before..key.end - before;
                        known.keep(count, &text[before..value.start], key_in_start, may_be_wanted);
                    }
                    if !may_be_wanted {
                        continue;
                    }
                    (&text[key], value)
                }
            };
            let value = &text[value];
            let is_plain = self.rules() == FormatVersion::Plain;
            let (at, chain) = match wanted.iter().position(|node| is_plain && node.is(key)) {
                Some(at) => (at, None),
                None => {
                    let (name, chain) = self.footer().split_key(unescape(key)?, value)?;
                    let Some(at) = wanted.iter().position(|node| node.name == name) else { continue };
                    (at, chain)
                }
            };
            let node = &wanted[at];
            if marked == Some(0) && node.name == markers::HEADER {
                continue;
            }
            // Before 1.1, the last of two equal names counts; a 1.1 row has no equal names.
            let bit = u32::try_from(at).ok().and_then(|at| 1u64.checked_shl(at)).unwrap_or_default();
            if bit == 0 || seen & bit != 0 {
                node.forget(found);
            } else {
                seen |= bit;
                left -= 1;
            }
            let tree = tree.and_then(|tree| tree.member(node.name));
            for slot in &node.slots {
                let chain = if marked.is_some() { marked_rows::marked(value) } else { chain };
                found[*slot] = Some(FoundValue { chain, text: value, node: tree });
            }
            if !node.below.is_empty() && chain.is_none() {
                let inner = if marked.is_some() { unescaped(value)? } else { Some(value) };
                if let Some(inner) = inner.filter(|inner| inner.first() == Some(&b'{')) {
                    let marked = marked.map(|depth| depth + 1);
                    let known = known.as_deref_mut().map(|known| known.below(at));
                    self.find_below(inner, &node.below, tree, marked, known, found)?;
                }
            }
            if left == 0 && self.rules() == FormatVersion::V1_1 {
                break;
            }
        }
        Ok(())
    }
}

/// A nested object of a row with markers, without its escape; `None` for a marker.
fn unescaped(text: &[u8]) -> Result<Option<&[u8]>> {
    if text.first() != Some(&b'{') {
        return Ok(None);
    }
    let Some(span) = Members::new(text).next_member()? else { return Ok(Some(text)) };
    let name = unescape(&text[span.key_range()])?;
    Ok(if name == markers::DICT {
        Some(&text[span.value_range()])
    } else {
        (!markers::is_reserved(&name)).then_some(text)
    })
}
