//! The keys of stored rows: name and chain, according to the rules in the footer.

use crate::footer::Footer;
use crate::key::{self, Chain, Form, FormatVersion};
use jinx_core::error::{Error, Result};
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;
use std::borrow::Cow;

impl Footer {
    /// Name and chain of a dict member's physical key.
    ///
    /// # Errors
    /// The errors of [`key::split`]; in 1.1 `Corrupt` for the wrapper of list elements, which no dict member
    /// has.
    pub fn split_key<'k>(
        &self,
        physical: Cow<'k, str>,
        value: &[u8],
    ) -> Result<(Cow<'k, str>, Option<Chain>)> {
        let (name, chain) = self.split_any(physical.clone(), value)?;
        if name.is_empty() && self.rules == FormatVersion::V1_1 && is_wrapper(physical.as_bytes()) {
            return Err(Error::corrupt("a wrapped value outside a list"));
        }
        Ok((name, chain))
    }

    /// Whether a key may be more than a name; the result false is certain.
    fn may_carry(&self, physical: &str) -> bool {
        let first = self.sep.as_bytes().first();
        self.mixed_sep || first.is_none_or(|byte| memchr::memchr(*byte, physical.as_bytes()).is_some())
    }

    fn split_any<'k>(&self, physical: Cow<'k, str>, value: &[u8]) -> Result<(Cow<'k, str>, Option<Chain>)> {
        if !self.may_carry(&physical) {
            return Ok((physical, None));
        }
        let mut form = Form::of(value.first().copied().unwrap_or_default());
        if self.rules == FormatVersion::V1_0 && !fits_old(&physical, form, value) {
            // A list cannot have a chain.
            form = Form::List;
        }
        match physical {
            Cow::Borrowed(text) => {
                self.split_text(text, form).map(|(name, chain)| (Cow::Borrowed(name), chain))
            }
            Cow::Owned(text) => {
                self.split_text(&text, form).map(|(name, chain)| (Cow::Owned(name.to_owned()), chain))
            }
        }
    }

    fn split_text<'k>(&self, text: &'k str, form: Form) -> Result<(&'k str, Option<Chain>)> {
        if self.mixed_sep {
            return key::split_mixed(text, form, &self.sep);
        }
        key::split(text, form, self.rules, &self.sep)
    }

    /// The chain and value of a list element that is wrapped to have a chain (1.1); `None` for others.
    ///
    /// # Errors
    /// `Corrupt` for a wrapper without a chain, or with further members.
    pub fn unwrap_element<'t>(&self, text: &'t [u8]) -> Result<Option<(Chain, &'t [u8])>> {
        if self.rules != FormatVersion::V1_1 || !text.starts_with(b"{") {
            return Ok(None);
        }
        let mut members = Members::new(text);
        let Some(span) = members.next_member()? else { return Ok(None) };
        if !is_wrapper(&text[span.key_range()]) {
            return Ok(None);
        }
        let value = &text[span.value_range()];
        match self.split_any(unescape(&text[span.key_range()])?, value)? {
            (name, Some(chain)) if name.is_empty() && members.next_member()?.is_none() => {
                Ok(Some((chain, value)))
            }
            (name, _) if name.is_empty() => {
                Err(Error::corrupt("a list element that is wrapped without a chain"))
            }
            _ => Ok(None),
        }
    }
}

/// Whether a 1.1 key begins with the quoted empty name.
fn is_wrapper(key: &[u8]) -> bool {
    key.starts_with(b"..")
}

/// Whether a 1.0 value can have the chain at the end of its key, as far as its form alone does not decide this.
fn fits_old(key: &str, form: Form, value: &[u8]) -> bool {
    if form != Form::Dict || !key.ends_with("bin") {
        return true;
    }
    let (mut members, mut count) = (Members::new(value), 0);
    while let Ok(Some(span)) = members.next_member() {
        count += usize::from(matches!(&value[span.key_range()], b"offset" | b"length"));
    }
    count >= 2
}
