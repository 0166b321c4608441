//! ISO 8601 forms of Arrow's dates, times and timestamps: all digits of the unit, any year, and exact in both
//! directions.

use crate::arrow::iso_string::IsoText;
use crate::civil_date::{date_of, days_of};
use arrow_schema::TimeUnit;

const SECONDS_A_DAY: i64 = 86_400;
const MILLIS_A_DAY: i64 = SECONDS_A_DAY * 1000;

/// How a timestamp's zone is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// A local time without a zone.
    None,
    /// Seconds east of UTC; 0 is written `Z`. Named zones are written in UTC, because Arrow stores the instant.
    Offset(i64),
}

impl Zone {
    pub(crate) fn of(name: Option<&str>) -> Self {
        name.map_or(Self::None, |name| Self::Offset(fixed_offset(name).unwrap_or(0)))
    }
}

/// Digits after the second, and how many ticks a second has.
fn precision(unit: TimeUnit) -> (usize, i64) {
    match unit {
        TimeUnit::Second => (0, 1),
        TimeUnit::Millisecond => (3, 1_000),
        TimeUnit::Microsecond => (6, 1_000_000),
        TimeUnit::Nanosecond => (9, 1_000_000_000),
    }
}

/// A timestamp in the form used in rows. `zone` is Arrow's name of a time zone, or its offset.
pub fn timestamp_text(ticks: i64, unit: TimeUnit, zone: Option<&str>) -> String {
    let mut text = IsoText::new();
    write_timestamp(&mut text, ticks, unit, Zone::of(zone));
    text.as_str().to_owned()
}

pub(crate) fn write_timestamp(text: &mut IsoText, ticks: i64, unit: TimeUnit, zone: Zone) {
    let (width, per_second) = precision(unit);
    let utc = ticks.div_euclid(per_second);
    let (seconds, zone) = match zone {
        Zone::None => (utc, Zone::None),
        Zone::Offset(offset) => match utc.checked_add(offset) {
            Some(local) => (local, zone),
            None => (utc, Zone::Offset(0)),
        },
    };
    write_date(text, seconds.div_euclid(SECONDS_A_DAY));
    text.byte(b'T');
    write_clock(text, seconds.rem_euclid(SECONDS_A_DAY).unsigned_abs());
    write_fraction(text, ticks.rem_euclid(per_second).unsigned_abs(), width);
    match zone {
        Zone::None => {}
        Zone::Offset(0) => text.byte(b'Z'),
        Zone::Offset(offset) => {
            text.byte(if offset < 0 { b'-' } else { b'+' });
            let minutes = offset.unsigned_abs() / 60;
            text.digits(minutes / 60, 2);
            text.byte(b':');
            text.digits(minutes % 60, 2);
        }
    }
}

pub(crate) fn write_date(text: &mut IsoText, days: i64) {
    let (year, month, day) = date_of(days);
    if !(0..=9999).contains(&year) {
        text.byte(if year < 0 { b'-' } else { b'+' });
    }
    text.digits(year.unsigned_abs(), 4);
    text.byte(b'-');
    text.digits(month.unsigned_abs(), 2);
    text.byte(b'-');
    text.digits(day.unsigned_abs(), 2);
}

/// A `Date64`: a date; with the time of day only if the milliseconds are not whole days.
pub(crate) fn write_date64(text: &mut IsoText, millis: i64) {
    if millis.rem_euclid(MILLIS_A_DAY) == 0 {
        write_date(text, millis.div_euclid(MILLIS_A_DAY));
    } else {
        write_timestamp(text, millis, TimeUnit::Millisecond, Zone::None);
    }
}

/// A time of day; values outside a day keep their sign and may exceed 24 hours.
pub(crate) fn write_time(text: &mut IsoText, ticks: i64, unit: TimeUnit) {
    let (width, per_second) = precision(unit);
    if ticks < 0 {
        text.byte(b'-');
    }
    let (ticks, per_second) = (ticks.unsigned_abs(), per_second.unsigned_abs());
    write_clock(text, ticks / per_second);
    write_fraction(text, ticks % per_second, width);
}

fn write_clock(text: &mut IsoText, seconds: u64) {
    text.digits(seconds / 3600, 2);
    text.byte(b':');
    text.digits(seconds / 60 % 60, 2);
    text.byte(b':');
    text.digits(seconds % 60, 2);
}

fn write_fraction(text: &mut IsoText, ticks: u64, width: usize) {
    if width > 0 {
        text.byte(b'.');
        text.digits(ticks, width);
    }
}

/// The ticks of a timestamp; if `zoned`, the text must end in `Z` or an offset, and otherwise it must not.
pub(crate) fn parse_timestamp(text: &str, unit: TimeUnit, zoned: bool) -> Option<i64> {
    let (days, rest) = split_date(text)?;
    let rest = rest.strip_prefix(['T', ' '])?;
    let (clock, offset) = if zoned {
        match rest.strip_suffix(['Z', 'z']) {
            Some(clock) => (clock, 0),
            None => {
                let at = rest.rfind(['+', '-'])?;
                (rest.get(..at)?, fixed_offset(rest.get(at..)?)?)
            }
        }
    } else {
        (rest, 0)
    };
    let (seconds, ticks) = parse_clock(clock, unit)?;
    if seconds >= i128::from(SECONDS_A_DAY) {
        return None;
    }
    let (_, per_second) = precision(unit);
    let total = i128::from(days) * i128::from(SECONDS_A_DAY) + seconds - i128::from(offset);
    i64::try_from(total * i128::from(per_second) + i128::from(ticks)).ok()
}

/// Days since 1970-01-01.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    split_date(text).and_then(|(days, rest)| rest.is_empty().then_some(days))
}

/// Milliseconds of a `Date64`.
pub(crate) fn parse_date64(text: &str) -> Option<i64> {
    match parse_date(text) {
        Some(days) => days.checked_mul(MILLIS_A_DAY),
        None => parse_timestamp(text, TimeUnit::Millisecond, false),
    }
}

pub(crate) fn parse_time(text: &str, unit: TimeUnit) -> Option<i64> {
    let (sign, clock) = match text.strip_prefix('-') {
        Some(clock) => (-1, clock),
        None => (1, text),
    };
    let (seconds, ticks) = parse_clock(clock, unit)?;
    let (_, per_second) = precision(unit);
    i64::try_from(sign * (seconds * i128::from(per_second) + i128::from(ticks))).ok()
}

/// Days since 1970-01-01 of the leading date, and the rest of the text.
fn split_date(text: &str) -> Option<(i64, &str)> {
    let (negative, signed, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, true, text.get(1..)?),
        b'+' => (false, true, text.get(1..)?),
        _ => (false, false, text),
    };
    let dash = unsigned.find('-')?;
    let (year, rest) = (unsigned.get(..dash)?, unsigned.get(dash..)?);
    // 12 digits are enough for every year that seconds in 64 bits can reach.
    if year.len() < 4 || year.len() > 12 || (!signed && year.len() != 4) {
        return None;
    }
    let year = number(year)? * if negative { -1 } else { 1 };
    let (month, day, rest) = match rest.as_bytes() {
        [b'-', _, _, b'-', _, _, ..] => (number(rest.get(1..3)?)?, number(rest.get(4..6)?)?, rest.get(6..)?),
        _ => return None,
    };
    Some((days_of(year, month, day)?, rest))
}

/// Whole seconds and ticks of `HH:MM:SS[.fraction]`; digits finer than the unit must be zeros.
fn parse_clock(text: &str, unit: TimeUnit) -> Option<(i128, i64)> {
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(clock, rest)| (clock, Some(rest)));
    let mut parts = clock.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || hours.len() < 2 || minutes.len() != 2 || seconds.len() != 2 {
        return None;
    }
    let (hours, minutes, seconds) = (number(hours)?, number(minutes)?, number(seconds)?);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let (width, _) = precision(unit);
    let ticks = match fraction {
        None => 0,
        Some(digits) => {
            let (held, beyond) = digits.split_at_checked(width.min(digits.len()))?;
            if digits.is_empty() || beyond.bytes().any(|byte| byte != b'0') {
                return None;
            }
            let missing = u32::try_from(width - held.len()).ok()?;
            if held.is_empty() { 0 } else { number(held)? * 10_i64.pow(missing) }
        }
    };
    Some((i128::from(hours) * 3600 + i128::from(minutes) * 60 + i128::from(seconds), ticks))
}

/// Seconds east of UTC of `+HH:MM`, `+HHMM` or `+HH`.
fn fixed_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (number(digits)?, 0),
        4 => (number(digits.get(..2)?)?, number(digits.get(2..)?)?),
        5 if digits.as_bytes()[2] == b':' => (number(digits.get(..2)?)?, number(digits.get(3..)?)?),
        _ => return None,
    };
    (minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Digits only: `str::parse` would take a sign as well.
fn number(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};

    fn text_of(write: impl FnOnce(&mut IsoText)) -> String {
        let mut text = IsoText::new();
        write(&mut text);
        text.as_str().to_owned()
    }

    #[test]
    fn timestamps_come_back() {
        for unit in [Second, Millisecond, Microsecond, Nanosecond] {
            for ticks in
                [0, 1, -1, i64::MAX, i64::MIN, 1_700_000_000_123_456_789, -62_135_596_800, 951_782_400]
            {
                for (zone, zoned) in
                    [(Zone::None, false), (Zone::of(Some("UTC")), true), (Zone::of(Some("-03:30")), true)]
                {
                    let text = text_of(|text| write_timestamp(text, ticks, unit, zone));
                    assert_eq!(parse_timestamp(&text, unit, zoned), Some(ticks), "{text}");
                    assert_eq!(parse_timestamp(&text, unit, !zoned), None, "{text}");
                }
            }
        }
    }

    #[test]
    fn forms_are_iso() {
        let at = |ticks, unit, zone| text_of(|text| write_timestamp(text, ticks, unit, zone));
        assert_eq!(at(1_709_210_096, Second, Zone::None), "2024-02-29T12:34:56");
        assert_eq!(
            at(1_709_210_096_000_000_001, Nanosecond, Zone::of(Some("UTC"))),
            "2024-02-29T12:34:56.000000001Z"
        );
        assert_eq!(at(0, Millisecond, Zone::of(Some("+05:30"))), "1970-01-01T05:30:00.000+05:30");
        assert_eq!(at(253_402_300_800, Second, Zone::of(Some("Europe/Berlin"))), "+10000-01-01T00:00:00Z");
        assert_eq!(text_of(|text| write_date(text, -719_529)), "-0001-12-31");
        assert_eq!(text_of(|text| write_time(text, 45_296_789, Millisecond)), "12:34:56.789");
    }

    #[test]
    fn dates_and_times_come_back() {
        for days in (-800_000..800_000).step_by(97).chain([i64::from(i32::MIN), i64::from(i32::MAX)]) {
            assert_eq!(parse_date(&text_of(|text| write_date(text, days))), Some(days));
        }
        for millis in [0, 86_400_000, 86_400_001, -1, i64::MAX, i64::MIN] {
            assert_eq!(parse_date64(&text_of(|text| write_date64(text, millis))), Some(millis));
        }
        for unit in [Second, Millisecond, Microsecond, Nanosecond] {
            for ticks in [0, 1, -1, 86_399_999, i64::MAX, i64::MIN] {
                assert_eq!(parse_time(&text_of(|text| write_time(text, ticks, unit)), unit), Some(ticks));
            }
        }
    }

    #[test]
    fn impossible_texts_are_refused() {
        for text in
            ["", "2024", "2024-02-30", "2023-02-29", "2024-13-01", "20240-01-01", "2024-1-1", "é024-01-01"]
        {
            assert_eq!(parse_date(text), None, "{text}");
        }
        for text in [
            "2024-01-01",
            "2024-01-01T",
            "2024-01-01T24:00:00",
            "2024-01-01T1:2:3",
            "2024-01-01T00:00:00.0001",
        ] {
            assert_eq!(parse_timestamp(text, Millisecond, false), None, "{text}");
        }
        assert_eq!(parse_timestamp("2024-01-01 00:00:00.1", Millisecond, false), Some(1_704_067_200_100));
        assert_eq!(parse_time("00:00:00.é", Second), None);
    }
}
