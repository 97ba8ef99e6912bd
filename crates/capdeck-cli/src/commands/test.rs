//! `capdeck test FILE…`: tests of code, without any server.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_host::{RunReplayer, TestFile};
use serde_json::{Value, json};

use crate::{
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::counted,
    printer::TextStyle,
    runtime::single_thread,
};

/// Run tests of code against recorded answers
///
/// A test has code, the answers its calls get, and what is expected of it. Nothing is connected, so it runs the same
/// anywhere. Make one of a recorded run with: capdeck runs show ID --as-test > name.test.yaml
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Test files, YAML or JSON.
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
}

/// What came of one file.
struct CodeTestOutcome {
    file: String,
    test: String,
    failures: Vec<String>,
}

pub(crate) fn run(args: &TestArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let tests =
        args.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, CommandFailure>>()?;
    let rehearsal = RunReplayer::new(context.settings()?.sandbox_worker()?);
    let outcomes: Vec<CodeTestOutcome> = single_thread()?.block_on(async {
        let mut outcomes = Vec::new();
        for (file, test) in args.files.iter().zip(tests) {
            let failures = rehearsal.test(&test).await.failures;
            outcomes.push(CodeTestOutcome {
                file: file.display().to_string(),
                test: test.test,
                failures,
            });
        }
        outcomes
    });
    let failed = outcomes.iter().filter(|one| !one.failures.is_empty()).count();
    if printer.wants_json() {
        let items: Vec<Value> = outcomes.iter().map(CodeTestOutcome::item).collect();
        printer
            .json(&json!({ "items": items, "passed": outcomes.len() - failed, "failed": failed }));
    } else {
        for one in &outcomes {
            let (style, word) = if one.failures.is_empty() {
                (TextStyle::Good, "pass")
            } else {
                (TextStyle::Bad, "FAIL")
            };
            let word = printer.palette().paint(style, word);
            printer.data(&format!("{word}  {}: {}\n", one.file, one.test));
            for failure in &one.failures {
                printer.data(&format!("      {failure}\n"));
            }
        }
        let total = counted(outcomes.len(), "test", "tests");
        printer.note(&format!("{total}, {failed} failed"));
    }
    Ok(if failed == 0 { ExitStatus::Done } else { ExitStatus::RequestFailed })
}

impl CodeTestOutcome {
    fn item(&self) -> Value {
        json!({
            "file": self.file,
            "test": self.test,
            "passed": self.failures.is_empty(),
            "failures": self.failures,
        })
    }
}

fn read(path: &Path) -> Result<TestFile, CommandFailure> {
    let text =
        fs::read_to_string(path).map_err(|error| CommandFailure::file("read", path, &error))?;
    let unreadable = |reason: String| {
        CommandFailure::setup("TEST_INVALID", format!("`{}` is no test: {reason}", path.display()))
            .hint("make one of a recorded run with: capdeck runs show ID --as-test")
    };
    let value: Value =
        serde_saphyr::from_str(&text).map_err(|error| unreadable(in_one_line(&error)))?;
    serde_json::from_value(value).map_err(|error| unreadable(error.to_string()))
}

/// What is wrong and where, without the picture of the lines around it.
fn in_one_line(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.trim_start_matches("error: ").to_owned()
}
