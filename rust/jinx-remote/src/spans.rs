//! Bytes of objects that are in memory or being fetched: each byte is requested once, and any number of threads can
//! wait for it.

use crate::access_pattern::CHUNK_BYTES;
use crate::process::locked;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::{Error, Result, interrupt};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a reader waits before it checks whether the program wants to stop.
const WAIT: Duration = Duration::from_millis(50);
/// The number of spans before a range that are checked, because one of them may cover the range.
const LOOKED_AT: usize = 8;
/// The number of the last requests that show which objects are being read.
const RECENT: usize = 16;

/// A hash of the object's URL and version.
pub(crate) type ObjectId = u128;

/// Bytes of an object that are fetched with one request.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) range: Range<u64>,
    answer: Mutex<Option<Result<Bytes>>>,
    arrived: Condvar,
}

impl Span {
    /// Passes the bytes, or the error, to all who wait.
    pub(crate) fn finish(&self, answer: Result<Bytes>) {
        *locked(&self.answer) = Some(answer);
        self.arrived.notify_all();
    }

    /// Waits for the bytes.
    pub(crate) fn wait(&self) -> Result<Bytes> {
        let mut answer = locked(&self.answer);
        loop {
            if let Some(answer) = &*answer {
                return answer.clone();
            }
            answer = self.arrived.wait_timeout(answer, WAIT).unwrap_or_else(PoisonError::into_inner).0;
            if answer.is_none() {
                interrupt::check()?;
            }
        }
    }

    /// The part `range` of the bytes, which must be inside them.
    pub(crate) fn part(&self, range: &Range<u64>) -> Result<Bytes> {
        let bytes = self.wait()?;
        let start = to_usize(range.start - self.range.start, "an offset")?;
        let end = to_usize(range.end - self.range.start, "an offset")?;
        if end > bytes.len() {
            return Err(Error::truncated("the store sent fewer bytes than were asked for"));
        }
        Ok(bytes.slice(start..end))
    }

    fn has_failed(&self) -> bool {
        locked(&self.answer).as_ref().is_some_and(Result::is_err)
    }
}

/// The spans of a process, limited by their total bytes: the span that was requested first is removed first.
#[derive(Debug, Default)]
pub(crate) struct Spans(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    objects: HashMap<ObjectId, BTreeMap<u64, Arc<Span>>>,
    /// The spans in the order of their requests.
    order: VecDeque<(ObjectId, Arc<Span>)>,
    bytes: u64,
}

impl Spans {
    /// The span that covers a range, if there is one.
    pub(crate) fn find(&self, object: ObjectId, range: &Range<u64>) -> Option<Arc<Span>> {
        locked(&self.0).find(object, range)
    }

    /// The number of objects that are being read, as far as the last requests show; at least 1.
    pub(crate) fn recent_objects(&self) -> u64 {
        let kept = locked(&self.0);
        let mut objects: Vec<_> = kept.order.iter().rev().take(RECENT).map(|(object, _)| object).collect();
        objects.sort_unstable();
        objects.dedup();
        to_u64(objects.len()).max(1)
    }

    /// Forgets the spans that overlap a range.
    pub(crate) fn forget(&self, object: ObjectId, range: &Range<u64>) {
        locked(&self.0).forget(object, range);
    }

    /// The span that covers `wanted`; if there is none, a new span for `range`, which must cover it. `true` if it is
    /// new: then the caller must fetch it.
    pub(crate) fn find_or_add(
        &self,
        object: ObjectId,
        wanted: &Range<u64>,
        range: Range<u64>,
        limit: u64,
    ) -> (Arc<Span>, bool) {
        let mut kept = locked(&self.0);
        match kept.find(object, wanted) {
            Some(span) => (span, false),
            None => (kept.add(object, range, limit), true),
        }
    }
}

impl Kept {
    /// Forgets all spans of an object. Their bytes still count until they are the oldest ones.
    fn forget(&mut self, object: ObjectId, range: &Range<u64>) {
        let Some(spans) = self.objects.get_mut(&object) else { return };
        spans.retain(|_, span| span.range.end <= range.start || span.range.start >= range.end);
        if spans.is_empty() {
            self.objects.remove(&object);
        }
    }

    fn find(&self, object: ObjectId, range: &Range<u64>) -> Option<Arc<Span>> {
        let spans = self.objects.get(&object)?;
        let before = spans.range(..=range.start).rev().take(LOOKED_AT).map(|(_, span)| span);
        // A chunk-sized span that covers the start may begin before many small spans.
        let chunk = spans.get(&(range.start / CHUNK_BYTES * CHUNK_BYTES));
        let covers = |span: &&Arc<Span>| span.range.end >= range.end && !span.has_failed();
        before.chain(chunk).find(covers).cloned()
    }

    fn add(&mut self, object: ObjectId, range: Range<u64>, limit: u64) -> Arc<Span> {
        let span =
            Arc::new(Span { range: range.clone(), answer: Mutex::default(), arrived: Condvar::default() });
        self.bytes += range.end - range.start;
        self.order.push_back((object, Arc::clone(&span)));
        // An older span with the same start is replaced: it was shorter, or has failed.
        self.objects.entry(object).or_default().insert(range.start, Arc::clone(&span));
        while self.bytes > limit && self.order.len() > 1 {
            self.forget_oldest();
        }
        span
    }

    fn forget_oldest(&mut self) {
        let Some((object, span)) = self.order.pop_front() else { return };
        self.bytes -= span.range.end - span.range.start;
        let Some(spans) = self.objects.get_mut(&object) else { return };
        if spans.get(&span.range.start).is_some_and(|kept| Arc::ptr_eq(kept, &span)) {
            spans.remove(&span.range.start);
        }
        if spans.is_empty() {
            self.objects.remove(&object);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_asked_for_once_and_the_oldest_goes_first() {
        let spans = Spans::default();
        let (first, is_new) = spans.find_or_add(1, &(10..20), 0..100, 250);
        assert!(is_new);
        let (same, is_new) = spans.find_or_add(1, &(90..100), 80..100, 250);
        assert!(!is_new && Arc::ptr_eq(&first, &same));
        assert!(spans.find(2, &(10..20)).is_none() && spans.find(1, &(90..101)).is_none());
        first.finish(Ok(Bytes::from(vec![7; 100])));
        assert_eq!(same.part(&(90..93)).unwrap(), vec![7; 3]);
        spans.find_or_add(1, &(200..300), 200..300, 250);
        spans.find_or_add(2, &(0..100), 0..100, 250);
        assert!(spans.find(1, &(10..20)).is_none());
        assert!(spans.find(1, &(200..300)).is_some() && spans.find(2, &(0..1)).is_some());
    }

    #[test]
    fn objects_count_while_they_are_read() {
        let spans = Spans::default();
        assert_eq!(spans.recent_objects(), 1);
        for i in 0..30 {
            spans.find_or_add(u128::from(i % 3), &(i..i + 1), i..i + 1, 1000);
        }
        assert_eq!(spans.recent_objects(), 3);
        for i in 30..46 {
            spans.find_or_add(7, &(i..i + 1), i..i + 1, 1000);
        }
        assert_eq!(spans.recent_objects(), 1);
    }

    #[test]
    fn damaged_bytes_are_asked_for_again() {
        let spans = Spans::default();
        for start in [0, 10, 20] {
            spans.find_or_add(1, &(start..start + 10), start..start + 10, 100);
        }
        spans.forget(2, &(0..30));
        spans.forget(1, &(10..20));
        assert!(spans.find(1, &(0..10)).is_some() && spans.find(1, &(20..30)).is_some());
        assert!(spans.find_or_add(1, &(12..13), 10..20, 25).1);
        assert!(spans.find(1, &(12..13)).is_some());
    }

    #[test]
    fn a_failure_is_told_and_asked_for_again() {
        let spans = Spans::default();
        let (span, _) = spans.find_or_add(1, &(0..10), 0..10, 100);
        span.finish(Err(Error::invalid("no")));
        assert!(span.wait().is_err());
        let (again, is_new) = spans.find_or_add(1, &(0..10), 0..10, 100);
        assert!(is_new);
        again.finish(Ok(Bytes::from_static(b"short")));
        assert!(again.part(&(2..8)).is_err());
        assert_eq!(again.part(&(2..4)).unwrap(), "or");
    }
}
