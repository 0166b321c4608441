//! MessagePack's own timestamps as ISO 8601 text in UTC.

use jinx_core::error::{Error, Result};

const DAY: i64 = 86_400;

/// A timestamp of 4, 8 or 12 bytes as text, with as many groups of three digits after the second as it needs.
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
    let (year, month, day) = date(seconds.div_euclid(DAY));
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

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
fn date(day: i64) -> (i64, i64, i64) {
    // Eras of 400 years that begin on the 1st of March: leap days then come last.
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
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
