//! Cases about what users of Caplets count on, against the binary: code mode, backends and wrapper tools.
//!
//! Each file in `caplets/` holds cases in the form of [`FileCase`]; where an answer is not the same as that of Caplets, the case
//! says why. `docs/reference/caplets.md` counts them.

mod deck;

use std::{fs, path::Path};

use capdeck_test::{CaseStep, CaseVerdict, FileCase, StdioClient, TestDirs, difference};
use serde_json::{Value, json};

use crate::capdeck;

/// Title, file, and how many cases it has at least.
const GROUPS: [(&str, &str, usize); 3] = [
    ("Code mode", "code-mode.cases", 120),
    ("Backends", "backends.cases", 70),
    ("Wrapper tools", "wrapper.cases", 50),
];

const INTRODUCTION: &str = "# Beside Caplets

Written by `crates/capdeck-cli/tests/it/caplets.rs` from its cases; run that test with `CAPDECK_UPDATE_DOCS=1` after a change.

Capdeck reads the files of Caplets, and agents, prompts and scripts that were written for Caplets go on working. The cases
below were written from a description of what Caplets 0.28 does, and run against the binary. *Same*: the answer has what a
client of Caplets looks for. *Better*: it has that and more, or Caplets fails. *Different*: on purpose, for the reason given.

";

fn cases(file: &str) -> Vec<FileCase> {
    FileCase::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/caplets").join(file))
}

/// Runs every case of a file with `ask`, which gives the answer to a step, and reports all that differ.
fn check(file: &str, mut ask: impl FnMut(&mut StdioClient, &str, usize) -> Value) {
    let only = option_env!("CAPDECK_CASE");
    let (dirs, api) = (TestDirs::new(), deck::api());
    deck::write(&dirs, api.url());
    let mut client = capdeck(&dirs).env("EDITION", "third").serve(&[]);
    client.initialize();
    let mut failures = Vec::new();
    for case in cases(file).iter().filter(|case| only.is_none_or(|name| case.name == name)) {
        for (index, CaseStep { asked, expected }) in case.steps.iter().enumerate() {
            let answer = ask(&mut client, asked, index);
            if let Some(difference) = difference(expected, &answer) {
                let mut shown = answer.to_string();
                shown.truncate(shown.floor_char_boundary(900));
                let name = &case.name;
                failures.push(format!("{name}, step {}: {difference}\n  {shown}", index + 1));
            }
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

/// Calls the tool that a step names in its first word, with the JSON that follows.
fn call(client: &mut StdioClient, asked: &str, _step: usize) -> Value {
    let (name, arguments) = asked.split_once(char::is_whitespace).unwrap_or((asked, "{}"));
    let arguments: Value =
        serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"));
    let answer = client.request("tools/call", json!({ "name": name, "arguments": arguments }));
    answer.get("result").unwrap_or(&answer).clone()
}

#[test]
fn code_mode_answers_as_scripts_for_caplets_expect() {
    let mut session = Value::Null;
    check("code-mode.cases", |client, asked, step| {
        let code = asked.replace("{SESSION}", session.as_str().unwrap_or_default());
        let mut arguments = json!({ "code": code, "timeoutMs": 20_000 });
        if step > 0 {
            arguments["sessionId"] = session.clone();
        }
        let params = json!({ "name": "code_mode", "arguments": arguments });
        let answer = client.request("tools/call", params);
        let envelope = answer["result"]["structuredContent"].clone();
        if step == 0 {
            session = envelope["meta"]["sessionId"].clone();
        }
        envelope
    });
}

#[test]
fn backends_become_the_tools_that_clients_of_caplets_know() {
    check("backends.cases", call);
}

#[test]
fn wrapper_tools_answer_as_clients_of_caplets_expect() {
    check("wrapper.cases", call);
}

#[test]
fn the_reference_page_counts_the_cases() {
    let actual = page();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/caplets.md");
    #[expect(clippy::disallowed_methods, reason = "a switch for the person who runs the tests")]
    if std::env::var_os("CAPDECK_UPDATE_DOCS").is_some() {
        fs::write(&docs, &actual).unwrap();
    }
    let written = fs::read_to_string(&docs).unwrap_or_default();
    assert_eq!(
        written, actual,
        "docs/reference/caplets.md is old; run this test with CAPDECK_UPDATE_DOCS=1"
    );
}

fn page() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("| cases | all | same | better | different |\n|---|---|---|---|---|\n");
    let mut reasons = String::new();
    for (title, file, least) in GROUPS {
        let cases = cases(file);
        assert!(cases.len() >= least, "{file} has {} cases, not {least}", cases.len());
        let (mut better, mut different) = (Vec::new(), Vec::new());
        for case in &cases {
            match &case.verdict {
                CaseVerdict::Same => {}
                CaseVerdict::Better(why) => better.push(row(&case.name, why)),
                CaseVerdict::Different(why) => different.push(row(&case.name, why)),
            }
        }
        let same = cases.len() - better.len() - different.len();
        text.push_str(&format!(
            "| {title} | {} | {same} | {} | {} |\n",
            cases.len(),
            better.len(),
            different.len()
        ));
        for (kind, rows) in [("different", different), ("better", better)] {
            if !rows.is_empty() {
                reasons.push_str(&format!("\n## {title}: {kind}\n\n| case | why |\n|---|---|\n"));
                reasons.extend(rows);
            }
        }
    }
    text + &reasons
}

fn row(name: &str, why: &str) -> String {
    format!("| {} | {} |\n", name.replace('|', "\\|"), why.replace('|', "\\|"))
}
