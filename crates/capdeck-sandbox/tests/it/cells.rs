//! The cell suite: lists of cells and what the envelope of each must hold.
//!
//! A file in `cells/` holds cases. `## name` starts one, `=> {…}` ends a cell with what its envelope must contain, and cells of
//! one case share a session. In an expectation `"~text"` means any text that contains `text`, `"*"` for anything,
//! and objects may have more members than are named.

use std::{fs, path::Path, time::Duration};

use capdeck_sandbox::{CellRun, SessionId, TypeCheck};
use serde_json::Value;

use crate::support::{envelope, pool, run};

struct Case {
    name: String,
    cells: Vec<(String, Value)>,
}

fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cells").join(file);
    let text = fs::read_to_string(path).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    let mut code = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            assert!(code.trim().is_empty(), "code without `=>` before `{name}`");
            code.clear();
            cases.push(Case { name: name.to_owned(), cells: Vec::new() });
        } else if let Some(expected) = line.strip_prefix("=> ") {
            let expected = serde_json::from_str(expected)
                .unwrap_or_else(|error| panic!("{expected}: {error}"));
            let case = cases.last_mut().unwrap();
            case.cells.push((std::mem::take(&mut code), expected));
        } else {
            code.push_str(line);
            code.push('\n');
        }
    }
    cases
}

/// Where an envelope differs from what is expected.
fn difference(expected: &Value, actual: &Value, path: &str) -> Option<String> {
    let differs = || Some(format!("{path}: expected {expected}, got {actual}"));
    match (expected, actual) {
        (Value::String(wanted), _) if wanted == "*" => None,
        (Value::String(wanted), Value::String(text)) => match wanted.strip_prefix('~') {
            Some(part) if text.contains(part) => None,
            None if wanted == text => None,
            _ => differs(),
        },
        (Value::Object(wanted), Value::Object(members)) => {
            wanted.iter().find_map(|(name, wanted)| {
                let actual = members.get(name).unwrap_or(&Value::Null);
                difference(wanted, actual, &format!("{path}.{name}"))
            })
        }
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => {
            let pairs = wanted.iter().zip(items).enumerate();
            pairs.into_iter().find_map(|(index, (wanted, actual))| {
                difference(wanted, actual, &format!("{path}[{index}]"))
            })
        }
        _ if expected == actual => None,
        _ => differs(),
    }
}

/// Runs every case of a file and reports all that differ.
async fn check(file: &str, types: TypeCheck) {
    let pool = pool();
    let mut failures = Vec::new();
    let cases = cases(file);
    assert!(cases.len() > 5, "{file} has too few cases");
    for case in &cases {
        let mut session: Option<SessionId> = None;
        for (index, (code, expected)) in case.cells.iter().enumerate() {
            let mut next = CellRun::new(code.trim_end());
            next.timeout = Some(Duration::from_secs(20));
            next.check = types;
            if let Some(id) = &session {
                next = next.in_session(id.clone());
            }
            let report = run(&pool, next).await;
            if session.is_none() {
                session.clone_from(&report.envelope.meta.session_id);
            }
            let actual = envelope(&report);
            if let Some(difference) = difference(expected, &actual, "") {
                failures.push(format!(
                    "{} cell {}: {difference}\n  {}",
                    case.name,
                    index + 1,
                    brief(&actual)
                ));
            }
        }
        pool.close_sessions_of("");
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

fn brief(envelope: &Value) -> String {
    let mut text = envelope.to_string();
    text.truncate(text.floor_char_boundary(700));
    text
}

#[tokio::test]
async fn language() {
    check("language.cells", TypeCheck::Off).await;
}

#[tokio::test]
async fn sessions() {
    check("sessions.cells", TypeCheck::Off).await;
}

#[tokio::test]
async fn values() {
    check("values.cells", TypeCheck::Off).await;
}

#[tokio::test]
async fn calls() {
    check("calls.cells", TypeCheck::Off).await;
}

#[tokio::test]
async fn platform() {
    check("platform.cells", TypeCheck::Off).await;
}

#[tokio::test]
async fn types() {
    check("types.cells", TypeCheck::Full).await;
}
