//! Leaves out null members of nested dicts: Arrow gives every struct all members of its type, so `{"type": "text",
//! "text": "hi"}` comes back with `"image": None` and the other members of its neighbours.

use jinx_core::error::Result;
use jinx_core::row_events::{Blob, Dtype, Number, Payload, Sink};

/// Passes on everything except null members below the top level.
pub(crate) struct DropNulls<S> {
    inner: S,
    /// The number of open containers.
    depth: usize,
    /// A name below the top level whose value has not come yet.
    waiting: Option<String>,
}

impl<S: Sink> DropNulls<S> {
    pub(crate) fn around(inner: S) -> Self {
        Self { inner, depth: 0, waiting: None }
    }

    fn settle(&mut self) -> Result<()> {
        self.waiting.take().map_or(Ok(()), |name| self.inner.key(&name))
    }
}

/// Events that begin a value; its name is passed on first.
macro_rules! values {
    ($($event:ident($($name:ident: $kind:ty),*);)*) => {
        $(fn $event(&mut self, $($name: $kind),*) -> Result<()> {
            self.settle()?;
            self.inner.$event($($name),*)
        })*
    };
}

impl<S: Sink> Sink for DropNulls<S> {
    values! {
        bool(value: bool);
        int(value: i64);
        big_int(digits: &str);
        float(value: f64);
        str(value: &str);
        blob(payload: Payload, blob: Blob<'_>);
        scalar(dtype: Dtype, value: Number);
        media_path(path: &str);
    }

    fn null(&mut self) -> Result<()> {
        // A null element of a list has no name, and is kept.
        if self.waiting.take().is_some() { Ok(()) } else { self.inner.null() }
    }

    fn begin_list(&mut self, len: usize) -> Result<()> {
        self.settle()?;
        self.depth += 1;
        self.inner.begin_list(len)
    }

    fn end_list(&mut self) -> Result<()> {
        self.depth = self.depth.saturating_sub(1);
        self.inner.end_list()
    }

    fn begin_dict(&mut self, len: usize) -> Result<()> {
        self.settle()?;
        self.depth += 1;
        self.inner.begin_dict(len)
    }

    fn key(&mut self, name: &str) -> Result<()> {
        if self.depth < 2 {
            return self.inner.key(name);
        }
        self.waiting = Some(name.to_owned());
        Ok(())
    }

    fn end_dict(&mut self) -> Result<()> {
        self.depth = self.depth.saturating_sub(1);
        self.inner.end_dict()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jinx_core::json::markers::{self, Markers};
    use jinx_core::json::write::{Binary, JsonText};

    #[test]
    fn only_members_below_the_top_go() {
        let mut text = JsonText::new(Binary::Tagged);
        let row = br#"{"a":null,"b":{"c":null,"d":[null,{"e":null,"f":0}],"g":{"h":null}}}"#;
        markers::emit_line(row, Markers::default(), &mut DropNulls::around(&mut text)).unwrap();
        assert_eq!(String::from_utf8(text.out).unwrap(), r#"{"a":null,"b":{"d":[null,{"f":0}],"g":{}}}"#);
    }
}
