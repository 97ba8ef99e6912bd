//! Files of cases: what is asked, and what the answer must hold.
//!
//! `## name` starts a case. Lines up to `=> {…}` are one step: what is asked, and JSON of what the answer must contain.
//! A case may have several steps. In an expectation `"~text"` is any text that contains `text`, `"*"` is anything that is
//! there, `null` also stands for a member that is missing, and objects may have more members than are named.
//! `! better: why` or `! different: why` below the name says how the answer compares with that of another program.

use std::path::Path;

use serde_json::Value;

/// One case of a file.
#[derive(Debug)]
pub struct FileCase {
    pub name: String,
    pub verdict: CaseVerdict,
    pub steps: Vec<CaseStep>,
}

/// How an answer compares with that of the program that the case is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseVerdict {
    Same,
    Better(String),
    Different(String),
}

/// One question of a case.
#[derive(Debug)]
pub struct CaseStep {
    pub asked: String,
    pub expected: Value,
}

impl FileCase {
    /// Reads a file of cases.
    pub fn read(path: impl AsRef<Path>) -> Vec<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
            panic!("{}: {error}", path.display());
        });
        let mut cases: Vec<Self> = Vec::new();
        let mut asked = String::new();
        for line in text.lines() {
            let is_between = asked.trim().is_empty();
            if let Some(name) = line.strip_prefix("## ") {
                assert!(is_between, "a step without `=>` before `{name}`");
                asked.clear();
                let (name, steps) = (name.to_owned(), Vec::new());
                cases.push(Self { name, verdict: CaseVerdict::Same, steps });
            } else if is_between && let Some(verdict) = line.strip_prefix("! ") {
                cases.last_mut().unwrap().verdict = CaseVerdict::parse(verdict);
            } else if let Some(expected) = line.strip_prefix("=> ") {
                let expected = serde_json::from_str(expected)
                    .unwrap_or_else(|error| panic!("{expected}: {error}"));
                let asked = std::mem::take(&mut asked).trim().to_owned();
                cases.last_mut().unwrap().steps.push(CaseStep { asked, expected });
            } else {
                asked.push_str(line);
                asked.push('\n');
            }
        }
        assert!(asked.trim().is_empty(), "{} ends in a step without `=>`", path.display());
        let empty = cases.iter().find(|case| case.steps.is_empty());
        assert!(empty.is_none(), "a case without steps: {empty:?}");
        cases
    }
}

impl CaseVerdict {
    fn parse(line: &str) -> Self {
        let (word, reason) = line.split_once(": ").unwrap_or((line, ""));
        assert!(!reason.is_empty(), "`! {line}` has no reason");
        match word {
            "better" => Self::Better(reason.to_owned()),
            "different" => Self::Different(reason.to_owned()),
            _ => panic!("`! {line}` is neither better nor different"),
        }
    }
}

/// Where an answer differs from what is expected.
pub fn difference(expected: &Value, actual: &Value) -> Option<String> {
    difference_at(expected, actual, "")
}

fn difference_at(expected: &Value, actual: &Value, path: &str) -> Option<String> {
    let differs = || Some(format!("{path}: expected {expected}, got {actual}"));
    match (expected, actual) {
        (Value::String(wanted), Value::Null) if wanted == "*" => differs(),
        (Value::String(wanted), _) if wanted == "*" => None,
        (Value::String(wanted), Value::String(text)) => match wanted.strip_prefix('~') {
            Some(part) if text.contains(part) => None,
            None if wanted == text => None,
            _ => differs(),
        },
        (Value::Object(wanted), Value::Object(members)) => {
            wanted.iter().find_map(|(name, wanted)| {
                let actual = members.get(name).unwrap_or(&Value::Null);
                difference_at(wanted, actual, &format!("{path}.{name}"))
            })
        }
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => {
            let pairs = wanted.iter().zip(items).enumerate();
            pairs.into_iter().find_map(|(index, (wanted, actual))| {
                difference_at(wanted, actual, &format!("{path}[{index}]"))
            })
        }
        _ if expected == actual => None,
        _ => differs(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_may_hold_more_than_is_expected_and_not_less() {
        let answer = json!({"a": 1, "text": "one two", "list": [{"b": 2, "c": 3}]});
        let same = [
            json!({}),
            json!({"a": 1, "none": null}),
            json!({"text": "~two", "list": [{"b": "*"}]}),
        ];
        for expected in same {
            assert_eq!(difference(&expected, &answer), None);
        }
        for (expected, place) in [
            (json!({"a": 2}), ".a: "),
            (json!({"b": "*"}), ".b: "),
            (json!({"text": "~three"}), ".text: "),
            (json!({"text": "one"}), ".text: "),
            (json!({"list": []}), ".list: "),
            (json!({"list": [{"b": 3}]}), ".list[0].b: "),
            (json!([]), ": "),
        ] {
            let found = difference(&expected, &answer).unwrap();
            assert!(found.starts_with(place), "{found}");
        }
    }
}
