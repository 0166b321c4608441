//! Days since 1970-01-01 as dates of the proleptic Gregorian calendar, and back.
//!
//! Counting from a 1st of March puts the leap day at the end of the year (Hinnant, "chrono-compatible low-level date
//! algorithms", 2013).

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_FROM_MARCH_0000: i64 = 719_468;
const DAYS_IN_400_YEARS: i64 = 146_097;

/// The year, month and day.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days.saturating_add(EPOCH_FROM_MARCH_0000);
    let era = shifted.div_euclid(DAYS_IN_400_YEARS);
    let day_of_era = shifted.rem_euclid(DAYS_IN_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The inverse of [`date_of`]; `None` for a day that does not exist.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let shifted_year = year - i64::from(month <= 2);
    let year_of_era = shifted_year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(shifted_year.div_euclid(400) * DAYS_IN_400_YEARS + day_of_era - EPOCH_FROM_MARCH_0000)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse_over_a_whole_era() {
        let first = days_of(1600, 2, 28);
        assert_eq!(first.map(date_of), Some((1600, 2, 28)));
        let mut before = (1600, 2, 27);
        for days in first.into_iter().flat_map(|first| first..=first + DAYS_IN_400_YEARS) {
            let (year, month, day) = date_of(days);
            assert!((year, month, day) > before);
            assert_eq!(days_of(year, month, day), Some(days));
            before = (year, month, day);
        }
        assert_eq!(before, (2000, 2, 28));
    }

    #[test]
    fn days_that_do_not_exist_are_none() {
        for (year, month, day) in
            [(2023, 2, 29), (1900, 2, 29), (2024, 4, 31), (2024, 0, 1), (2024, 13, 1), (2024, 1, 0)]
        {
            assert_eq!(days_of(year, month, day), None);
        }
        assert_eq!(days_of(2000, 2, 29), Some(11_016));
        assert_eq!(days_of(1970, 1, 1), Some(0));
    }
}
