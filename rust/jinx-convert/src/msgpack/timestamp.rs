//! MessagePack's own timestamps as ISO 8601 text in UTC.

use crate::civil_date::date_of;
use jinx_core::error::{Error, Result};

const DAY: i64 = 86_400;

/// A timestamp of 4, 8 or 12 bytes as text, with as many groups of three digits after the second as needed.
///
/// # Errors
/// `Corrupt` for other lengths and for a second of a billion nanoseconds or more.
pub(crate) fn text(data: &[u8]) -> Result<String> {
    let bad = || Error::corrupt("an invalid timestamp");
    let (seconds, nanos) = if let Ok(data) = <[u8; 4]>::try_from(data) {
        (i64::from(u32::from_be_bytes(data)), 0)
    } else if let Ok(data) = <[u8; 8]>::try_from(data) {
        let both = u64::from_be_bytes(data);
        let seconds = i64::try_from(both & ((1 << 34) - 1)).map_err(|_| bad())?;
        (seconds, both >> 34)
    } else {
        let (nanos, seconds) = data.split_first_chunk::<4>().ok_or_else(bad)?;
        let seconds = i64::from_be_bytes(seconds.try_into().map_err(|_| bad())?);
        (seconds, u64::from(u32::from_be_bytes(*nanos)))
    };
    if nanos >= 1_000_000_000 {
        return Err(bad());
    }
    let (year, month, day) = date_of(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let year = if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") };
    let fraction = match nanos {
        0 => String::new(),
        _ if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
        _ if nanos % 1000 == 0 => format!(".{:06}", nanos / 1000),
        _ => format!(".{nanos:09}"),
    };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Ok(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn long(seconds: i64, nanos: u32) -> String {
        text(&[nanos.to_be_bytes().as_slice(), &seconds.to_be_bytes()].concat()).unwrap()
    }

    #[test]
    fn all_three_forms_are_read() {
        assert_eq!(text(&[0; 4]).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(text(&1_709_210_096u32.to_be_bytes()).unwrap(), "2024-02-29T12:34:56Z");
        let both = (5_000_000u64 << 34) | 1_709_210_096;
        assert_eq!(text(&both.to_be_bytes()).unwrap(), "2024-02-29T12:34:56.005Z");
        assert_eq!(long(-1, 1), "1969-12-31T23:59:59.000000001Z");
        assert_eq!(long(-62_167_219_200, 0), "0000-01-01T00:00:00Z");
        assert_eq!(long(253_402_300_800, 0), "+010000-01-01T00:00:00Z");
        assert!(long(i64::MIN, 0).starts_with('-') && long(i64::MAX, 0).starts_with('+'));
    }

    #[test]
    fn bad_ones_are_refused() {
        assert!(text(&[]).is_err() && text(&[0; 5]).is_err() && text(&[0xff; 8]).is_err());
        assert!(text(&[0xff; 12]).is_err());
    }
}
