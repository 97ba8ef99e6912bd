//! Compares a run with its record or with the expectations of a test.

use capdeck_definition::first_letters;
use capdeck_sandbox::{CallRecord, RunError, RunReport};
use capdeck_storage::sha256_hex;
use serde_json::{Value, json, value::RawValue};

use super::{
    record::{RecordedCall, RunEnd},
    test_file::TestExpectation,
};
use crate::raw;

pub(super) fn compare(before: &RunEnd, now: &RunReport) -> Vec<String> {
    let parse = |text: &RawValue| raw::value(text).unwrap_or_default();
    match (before, &now.envelope.outcome) {
        (RunEnd::Value(before), Ok(now)) => {
            differences(ComparisonBasis::Before, "", &parse(before), &parse(now))
        }
        (RunEnd::LargeValue { bytes, sha256 }, Ok(now)) => {
            let text = now.get();
            if *sha256 == sha256_hex(text) {
                return Vec::new();
            }
            vec![format!("the value had {bytes} bytes and is now another one of {}", text.len())]
        }
        (RunEnd::Error(before), Err(now)) if before.code == now.code => {
            if before.message == now.message {
                return Vec::new();
            }
            vec![format!("the error was `{}` and is `{}`", before.message, now.message)]
        }
        (RunEnd::Error(before), Err(now)) => {
            let before = before.code.as_str();
            vec![format!("it failed with `{before}` and fails with `{}`", error_text(now))]
        }
        (RunEnd::Error(before), Ok(_)) => {
            vec![format!("it failed with `{}` and gives a value", before.message)]
        }
        (RunEnd::Value(_) | RunEnd::LargeValue { .. }, Err(now)) => {
            vec![format!("it gave a value and fails with `{}`", error_text(now))]
        }
        (RunEnd::Nothing, _) => Vec::new(),
    }
}

fn error_text(error: &RunError) -> String {
    format!("{}: {}", error.code.as_str(), error.message)
}

#[derive(Clone, Copy)]
enum ComparisonBasis {
    Before,
    Expectation,
}

impl ComparisonBasis {
    fn describe_difference(self, place: &str, expected: &Value, now: &Value) -> String {
        let place = if place.is_empty() { "the value".to_owned() } else { format!("`{place}`") };
        let (expected, now) = (short(expected), short(now));
        match self {
            Self::Before => format!("{place} was `{expected}` and is `{now}`"),
            Self::Expectation => format!("{place} is `{now}`, expected `{expected}`"),
        }
    }

    /// The words for a place that only the other side has, and that only this side has.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Before => ("is gone", "is new"),
            Self::Expectation => ("is missing", "was not expected"),
        }
    }
}

fn differences(against: ComparisonBasis, place: &str, before: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let place = format!("{place}/{key}");
                match (before.get(key), now.get(key)) {
                    (Some(before), Some(now)) => {
                        found.extend(differences(against, &place, before, now));
                    }
                    (Some(_), None) => found.push(format!("`{place}` {}", against.words().0)),
                    (None, Some(_)) => found.push(format!("`{place}` {}", against.words().1)),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                found.extend(differences(against, &format!("{place}/{index}"), before, now));
            }
        }
        _ if before == now => {}
        _ => found.push(against.describe_difference(place, before, now)),
    }
    found.truncate(10);
    found
}

fn short(value: &Value) -> String {
    first_letters(&value.to_string(), 120)
}

impl TestExpectation {
    pub(super) fn failures(&self, report: &RunReport) -> Vec<String> {
        let mut unmet = Vec::new();
        let outcome = &report.envelope.outcome;
        let value = outcome.as_ref().ok().map(|value| raw::value(value).unwrap_or_default());
        match (&self.error, outcome) {
            (Some(code), Err(error)) => {
                let own = json!(error.code);
                let inner = error.details.as_ref().and_then(|details| details.get("code"));
                if own != json!(code) && inner != Some(&json!(code)) {
                    unmet.push(format!("expected the error `{code}`, got `{}`", error_text(error)));
                }
            }
            (Some(code), Ok(_)) => unmet.push(format!("expected the error `{code}`, got a value")),
            (None, Err(error)) => {
                unmet.push(format!("the run failed with `{}`", error_text(error)));
            }
            (None, Ok(_)) => {}
        }
        if let (Some(expected), Some(value)) = (&self.value, &value)
            && expected != value
        {
            unmet.extend(differences(ComparisonBasis::Expectation, "", expected, value));
        }
        if let (Some(part), Some(value)) = (&self.contains, &value)
            && !contains(value, part)
        {
            unmet.push(format!("`{}` is not in `{}`", short(part), short(value)));
        }
        if let Some(expected) = &self.calls {
            let made: Vec<String> = report.calls.iter().map(target).collect();
            if *expected != made {
                let list = |calls: &[String]| calls.join(", ");
                unmet.push(format!(
                    "expected the calls [{}], got [{}]",
                    list(expected),
                    list(&made)
                ));
            }
        }
        unmet
    }
}

fn target(call: &CallRecord) -> String {
    let args: Value = serde_json::from_str(call.args.get()).unwrap_or_default();
    RecordedCall::name(call.capability.as_deref(), call.method, &args)
}

fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(key, part)| value.get(key).is_some_and(|value| contains(value, part)))
        }
        (Value::Array(items), Value::Array(parts)) => {
            parts.iter().all(|part| items.iter().any(|item| contains(item, part)))
        }
        (Value::Array(items), part) => items.iter().any(|item| contains(item, part)),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        _ => value == part,
    }
}
