//! Physical keys: the name of a member, and the chain of steps that convert the stored form to the value.
//!
//! The grammar is `spec/values.md`. A chain reads left to right in the order of encoding:
//! `raw.zst.bin` = bytes, compressed with zstd, put into the sidecar.

use jinx_core::codec::Codec;
use jinx_core::error::{Cause, Error, Result};
use jinx_core::limits::MAX_CHAIN_CODECS;
use jinx_core::row_events::{Dtype, Payload};

/// The kind of a stored value after it is fetched and decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Str,
    Blob(Payload),
    Scalar(Dtype),
    /// No type in the chain: the bytes are JSON (only in JINX 1.0 files).
    Json,
    /// JSON with markers, in a plain JSON Lines row that declares them; keys do not show this.
    Marked,
}

/// A parsed suffix chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    pub kind: Kind,
    codecs: [Option<Codec>; MAX_CHAIN_CODECS],
    /// Whether the value is a pointer into the sidecar.
    pub bin: bool,
}

impl Chain {
    pub fn new(kind: Kind, codec: Option<Codec>, bin: bool) -> Self {
        let mut codecs = [None; MAX_CHAIN_CODECS];
        codecs[0] = codec;
        Self { kind, codecs, bin }
    }

    /// The codecs, in the order in which the writer applied them.
    pub fn codecs(&self) -> impl DoubleEndedIterator<Item = Codec> + '_ {
        self.codecs.iter().flatten().copied()
    }

    fn push_codec(&mut self, codec: Codec) -> Result<()> {
        match self.codecs.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => {
                *slot = Some(codec);
                Ok(())
            }
            None => Err(Error::limit(format!("more than {MAX_CHAIN_CODECS} codecs in one suffix chain"))),
        }
    }

    /// Parses `raw.zst.bin`.
    ///
    /// # Errors
    /// `Corrupt` for a component that is unknown or out of place, `Limit` for too many codecs.
    pub fn parse(text: &str, sep: &str) -> Result<Self> {
        let mut chain = Self::new(Kind::Json, None, false);
        for (i, part) in text.split(sep).enumerate() {
            if chain.bin {
                return Err(Error::corrupt(format!("suffix chain '{text}' continues after 'bin'")));
            }
            if let (0, Some(kind)) = (i, kind_from_name(part)) {
                chain.kind = kind;
            } else if part == "bin" {
                chain.bin = true;
            } else if let Some(codec) = Codec::from_ext(part) {
                chain.push_codec(codec)?;
            } else {
                return Err(Error::corrupt(format!("unknown suffix '{part}' in chain '{text}'")));
            }
        }
        if matches!(chain.kind, Kind::Scalar(_)) && (chain.bin || chain.codecs[0].is_some()) {
            return Err(Error::corrupt(format!("suffix chain '{text}' continues after a number's type")));
        }
        Ok(chain)
    }

    /// Appends the chain's text, without a leading separator.
    pub fn push_text(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut part = |text: &str| {
            if out.len() > start {
                out.push(b'.');
            }
            out.extend_from_slice(text.as_bytes());
        };
        match self.kind {
            Kind::Json | Kind::Marked => {}
            kind => part(kind_name(kind)),
        }
        for codec in self.codecs() {
            part(codec.ext());
        }
        if self.bin {
            part("bin");
        }
    }
}

/// The kind's name in a chain and in the footer's statistics.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Str => "str",
        Kind::Blob(Payload::Raw) => "raw",
        Kind::Blob(Payload::Npy) => "npy",
        Kind::Blob(Payload::Pt) => "pt",
        Kind::Blob(Payload::Np) => "np",
        Kind::Scalar(dtype) => dtype.name(),
        Kind::Json | Kind::Marked => "json",
    }
}

fn kind_from_name(name: &str) -> Option<Kind> {
    Some(match name {
        "str" => Kind::Str,
        "raw" => Kind::Blob(Payload::Raw),
        "npy" => Kind::Blob(Payload::Npy),
        "pt" => Kind::Blob(Payload::Pt),
        "np" => Kind::Blob(Payload::Np),
        other => Kind::Scalar(Dtype::from_name(other)?),
    })
}

/// The form of a JSON value, which must match the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Null,
    Bool,
    Number,
    Str,
    List,
    Dict,
}

impl Form {
    /// The form that starts with this byte of JSON text.
    pub fn of(first: u8) -> Self {
        match first {
            b'n' => Self::Null,
            b't' | b'f' => Self::Bool,
            b'"' => Self::Str,
            b'[' => Self::List,
            b'{' => Self::Dict,
            _ => Self::Number,
        }
    }
}

/// The rules for the keys of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatVersion {
    /// A JSONL file that is not ours: every key is just a name.
    Plain,
    V1_0,
    V1_1,
}

/// Splits a physical key into the name and its chain.
///
/// # Errors
/// `Limit` for too many codecs; version 1.1: `Corrupt` for a chain or a quoting that the grammar does not allow.
pub fn split<'k>(
    key: &'k str,
    form: Form,
    rules: FormatVersion,
    sep: &str,
) -> Result<(&'k str, Option<Chain>)> {
    match rules {
        FormatVersion::Plain => Ok((key, None)),
        FormatVersion::V1_0 => split_1_0(key, form, sep),
        FormatVersion::V1_1 => split_1_1(key, sep),
    }
}

fn split_1_1<'k>(key: &'k str, sep: &str) -> Result<(&'k str, Option<Chain>)> {
    let Some(first) = key.find(sep) else {
        return Ok((key, None));
    };
    let (name, chain) = match key.strip_suffix(sep) {
        Some(quoted) => {
            let at = quoted.rfind(&format!("{sep}{sep}")).ok_or_else(|| {
                Error::corrupt(format!("key '{key}' ends like a quoted name but is not one"))
            })?;
            (&quoted[..at], &quoted[at + 2 * sep.len()..])
        }
        None => (&key[..first], &key[first + sep.len()..]),
    };
    let chain = if chain.is_empty() { None } else { Some(Chain::parse(chain, sep)?) };
    Ok((name, chain))
}

/// JINX 1.0 has no quoting, so the longest chain that fits the value is removed from the end of the key.
fn split_1_0<'k>(key: &'k str, form: Form, sep: &str) -> Result<(&'k str, Option<Chain>)> {
    let mut name = key;
    let mut parts: Vec<&str> = Vec::new();
    let mut typed = false;
    while !typed {
        let Some(at) = name.rfind(sep) else { break };
        let part = &name[at + sep.len()..];
        let kind = kind_from_name(part);
        let legal = match kind {
            Some(kind) => kind_fits(kind, form, parts.first() == Some(&"bin"), parts.is_empty()),
            None if part == "bin" => parts.is_empty() && form == Form::Dict,
            None => {
                Codec::from_ext(part).is_some()
                    && (form == Form::Str || (form == Form::Dict && parts.first() == Some(&"bin")))
            }
        };
        if !legal {
            break;
        }
        typed = kind.is_some();
        parts.push(part);
        name = &name[..at];
    }
    if parts.is_empty() {
        return Ok((key, None));
    }
    parts.reverse();
    match Chain::parse(&parts.join(sep), sep) {
        Ok(chain) => Ok((name, Some(chain))),
        Err(error) if error.cause() == Cause::Limit => Err(error),
        Err(_) => Ok((key, None)),
    }
}

/// The form that the 1.0 writer uses for another separator: `.` before the chain, the separator inside it.
///
/// # Errors
/// `Limit` for too many codecs.
pub fn split_mixed<'k>(key: &'k str, form: Form, sep: &str) -> Result<(&'k str, Option<Chain>)> {
    let Some(at) = key.rfind('.') else { return Ok((key, None)) };
    let alone = format!("{sep}{}", &key[at + 1..]);
    match split_1_0(&alone, form, sep)? {
        ("", Some(chain)) => Ok((&key[..at], Some(chain))),
        _ => Ok((key, None)),
    }
}

fn kind_fits(kind: Kind, form: Form, in_sidecar: bool, alone: bool) -> bool {
    match kind {
        Kind::Scalar(dtype) if alone => {
            form == Form::Number || (dtype.is_float() && matches!(form, Form::Null | Form::Str))
        }
        Kind::Scalar(_) => false,
        _ => form == Form::Str || (form == Form::Dict && (in_sidecar || !alone)),
    }
}

/// Appends the physical key of `name` with `chain`, as text before JSON escaping.
pub fn push_key(out: &mut Vec<u8>, name: &str, chain: Option<&Chain>) {
    out.extend_from_slice(name.as_bytes());
    let quoted = needs_quotes(name);
    if quoted {
        out.extend_from_slice(b"..");
    } else if chain.is_some() {
        out.push(b'.');
    }
    if let Some(chain) = chain {
        chain.push_text(out);
    }
    if quoted {
        out.push(b'.');
    }
}

/// Whether a dict member's name must be quoted (separator `.`).
pub fn needs_quotes(name: &str) -> bool {
    memchr::memchr(b'.', name.as_bytes()).is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(name: &str, chain: Option<&Chain>) -> String {
        let mut out = Vec::new();
        push_key(&mut out, name, chain);
        String::from_utf8(out).unwrap()
    }

    const RAW: Kind = Kind::Blob(Payload::Raw);

    #[test]
    fn writes_the_examples_of_the_specification() {
        assert_eq!(key("model.pt", None), "model.pt...");
        assert_eq!(key("model.pt", Some(&Chain::new(RAW, None, true))), "model.pt..raw.bin.");
        assert_eq!(key("", Some(&Chain::new(RAW, None, false))), ".raw");
        assert_eq!(key("image", Some(&Chain::new(RAW, Some(Codec::Zstd), true))), "image.raw.zst.bin");
    }

    #[test]
    fn version_1_0_strips_only_what_fits_the_value() {
        assert_eq!(split_1_0("v1.0", Form::Number, ".").unwrap(), ("v1.0", None));
        assert_eq!(split_1_0("v1.0.raw", Form::Str, ".").unwrap().0, "v1.0");
        assert_eq!(split_1_0("a.bin", Form::Str, ".").unwrap(), ("a.bin", None));
        assert_eq!(split_1_0("a.bin", Form::Dict, ".").unwrap().1.unwrap().kind, Kind::Json);
        assert_eq!(
            split_1_0("x.int8", Form::Number, ".").unwrap().1.unwrap().kind,
            Kind::Scalar(Dtype::Int8)
        );
        assert_eq!(split_1_0("x.int8", Form::Str, ".").unwrap(), ("x.int8", None));
        assert_eq!(split_1_0("x.str.gz.zst", Form::Str, ".").unwrap().1.unwrap().codecs().count(), 2);
    }

    #[test]
    fn version_1_1_refuses_unknown_chains() {
        for bad in [
            "a.b",
            "a.raw.raw",
            "a.bin.zst",
            "a.",
            "..",
            "a..b.",
            "a.zst.zst.zst.zst",
            "a.int8.zst",
            "a.float64.bin",
        ] {
            assert!(split_1_1(bad, ".").is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_name_survives(name in "[a.\\PC]{0,12}", zst: bool, bin: bool) {
            let chain = Chain::new(RAW, zst.then_some(Codec::Zstd), bin);
            for chain in [None, Some(chain)] {
                let text = key(&name, chain.as_ref());
                prop_assert_eq!(split_1_1(&text, ".").unwrap(), (name.as_str(), chain));
            }
        }

        #[test]
        fn no_key_panics(key in "[a.bizstnr0]{0,24}") {
            for form in [Form::Null, Form::Number, Form::Str, Form::Dict] {
                let _ = split_1_0(&key, form, ".");
                let _ = split_mixed(&key, form, "z");
                let _ = split_1_1(&key, ".");
            }
        }
    }
}
