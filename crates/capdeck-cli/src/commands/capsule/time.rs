//! Moments as people type and read them.

use jiff::{Span, Timestamp};

/// A moment: a time such as `2026-01-31T12:00:00Z`, a day, or how long from now in the given direction.
fn moment(typed: &str, direction: TimeDirection) -> Result<Timestamp, String> {
    let explain = || {
        "write a time such as 2026-01-31T12:00:00Z, a day such as 2026-01-31, or a span such as 7d or 12h"
            .to_owned()
    };
    if let Ok(moment) = typed.parse::<Timestamp>() {
        return Ok(moment);
    }
    if let Ok(day) = typed.parse::<jiff::civil::Date>() {
        let start = day.to_zoned(jiff::tz::TimeZone::UTC).map_err(|error| error.to_string())?;
        return Ok(start.timestamp());
    }
    let span: Span = typed.parse().map_err(|_| explain())?;
    if span.is_negative() || span.is_zero() {
        return Err(explain());
    }
    let now = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let moved = match direction {
        TimeDirection::Past => now.checked_sub(span),
        TimeDirection::Future => now.checked_add(span),
    };
    moved.map(|moment| moment.timestamp()).map_err(|error| error.to_string())
}

enum TimeDirection {
    Past,
    Future,
}

/// A moment in the past, for filters.
pub(crate) fn past(typed: &str) -> Result<Timestamp, String> {
    moment(typed, TimeDirection::Past)
}

/// A moment to come, for limits.
pub(crate) fn future(typed: &str) -> Result<Timestamp, String> {
    let moment = moment(typed, TimeDirection::Future)?;
    if moment <= Timestamp::now() { Err("it is over already".to_owned()) } else { Ok(moment) }
}

/// A moment as it is shown.
pub(crate) fn time(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_days_and_spans_are_understood() {
        assert_eq!(past("2026-01-31T12:00:00Z").unwrap().to_string(), "2026-01-31T12:00:00Z");
        assert_eq!(past("2026-01-31").unwrap().to_string(), "2026-01-31T00:00:00Z");
        let week = Timestamp::now().as_second() - past("7d").unwrap().as_second();
        assert!((7 * 86_400..7 * 86_400 + 60).contains(&week), "{week}");
        assert!(future("12h").unwrap() > Timestamp::now());
        for wrong in ["yesterday", "", "-7d", "0s", "2026-13-01"] {
            assert!(past(wrong).is_err(), "{wrong}");
        }
        assert_eq!(future("2020-01-01").unwrap_err(), "it is over already");
    }
}
