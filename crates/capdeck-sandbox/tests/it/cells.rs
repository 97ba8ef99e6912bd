//! The cell suite: lists of cells and what the envelope of each must hold.
//!
//! A file in `cells/` holds cases in the form of [`FileCase`]; cells of one case share a session.

use std::{path::Path, time::Duration};

use capdeck_sandbox::{CellRun, SessionId, TypeCheck};
use capdeck_test::{CaseStep, FileCase, difference};
use serde_json::Value;

use crate::support::{envelope, pool, run};

/// Runs every case of a file and reports all that differ.
async fn check(file: &str, types: TypeCheck) {
    let pool = pool();
    let mut failures = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cells");
    let cases = FileCase::read(folder.join(file));
    assert!(cases.len() > 5, "{file} has too few cases");
    for case in &cases {
        let mut session: Option<SessionId> = None;
        for (index, CaseStep { asked, expected }) in case.steps.iter().enumerate() {
            let mut next = CellRun::new(asked.as_str());
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
            if let Some(difference) = difference(expected, &actual) {
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
