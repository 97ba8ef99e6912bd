//! How entries and moments are typed and shown.

use capdeck_host::{EntryInfo, PromotionReason, RiskClass, WriteOutcome};
use jiff::{Span, Timestamp};

use crate::{
    args::ChoiceRow,
    plain_text::time,
    printer::{Printer, TextStyle},
    table::{TextTable, cell, styled},
};

/// How readers should take an entry, as a flag.
pub(super) const RISK_CLASSES: [ChoiceRow<RiskClass>; 2] = [
    ("specific_code", "It cites code: to be checked against the project", RiskClass::SpecificCode),
    (
        "structural",
        "Reasons and conventions: an opinion that may be out of date",
        RiskClass::Structural,
    ),
];

/// Entries, one a line.
pub(super) fn entries_table(entries: &[EntryInfo]) -> TextTable {
    TextTable::new(["URI", "VERSION", "WRITTEN", "BY", "TITLE"], entries, |entry| {
        [
            styled(TextStyle::Strong, &entry.uri),
            cell(entry.version),
            cell(time(entry.written_at)),
            cell(&entry.written_by),
            cell(&entry.title),
        ]
    })
}

/// Says how to get the next page.
pub(super) fn more(next_cursor: Option<&str>, printer: &Printer) {
    if let Some(cursor) = next_cursor {
        printer.note(&format!("there are more; go on with: --cursor {cursor}"));
    }
}

/// `written version 3 of docs://api (specific_code: it cites files)`.
pub(super) fn written_line(done: &str, outcome: &WriteOutcome) -> String {
    let why = match outcome.promotion_reason {
        Some(PromotionReason::FileAnchor) => ": it cites files",
        Some(PromotionReason::FunctionSignature) => ": it shows code",
        None => "",
    };
    let (uri, version, class) = (&outcome.uri, outcome.version, outcome.risk_class.as_str());
    format!("{done} version {version} of {uri} ({class}{why})")
}

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
pub(super) fn future(typed: &str) -> Result<Timestamp, String> {
    let moment = moment(typed, TimeDirection::Future)?;
    if moment <= Timestamp::now() { Err("it is over already".to_owned()) } else { Ok(moment) }
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
