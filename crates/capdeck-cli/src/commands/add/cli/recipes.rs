//! Ready-made tools for a repository.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::errors::Failure;

/// The largest package.json that is looked into.
const MAX_PACKAGE_BYTES: u64 = 1 << 20;

/// A group of ready-made tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Recipe {
    /// Reads the repository with git.
    Git,
    /// Reads issues and pull requests with the GitHub command line.
    Gh,
    /// Runs the scripts of package.json.
    Package,
}

/// The recipes that fit a folder.
pub(super) fn found_in(folder: &Path) -> Vec<Recipe> {
    let mut found = Vec::new();
    if folder.join(".git").exists() {
        found.push(Recipe::Git);
    }
    if folder.join("package.json").is_file() {
        found.push(Recipe::Package);
    }
    found
}

impl Recipe {
    pub(super) fn actions(self, folder: &Path) -> Result<Map<String, Value>, Failure> {
        match self {
            Self::Git => Ok(git()),
            Self::Gh => Ok(gh()),
            Self::Package => package(folder),
        }
    }
}

fn git() -> Map<String, Value> {
    Map::from_iter([
        read(
            "git_status",
            "Changed, staged and untracked files.",
            &["git", "status", "--short", "--branch"],
        ),
        read("git_log", "The last 20 commits.", &["git", "log", "--oneline", "--max-count=20"]),
        read("git_diff", "Changes that are not staged.", &["git", "diff", "--no-ext-diff"]),
        with_input(
            read(
                "git_show",
                "One commit with its changes.",
                &["git", "show", "--no-ext-diff", "--end-of-options", "$input.commit"],
            ),
            "commit",
            &json!({ "type": "string", "minLength": 1, "description": "A commit, branch or tag." }),
        ),
    ])
}

fn gh() -> Map<String, Value> {
    let view =
        |what: &str| ["gh", what, "view", "--comments", "--", "$input.number"].map(str::to_owned);
    let number = json!({ "type": "integer", "minimum": 1 });
    let one = |name: &str, about: &str, what: &str| {
        let words = view(what);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        with_input(read(name, about, &words), "number", &number)
    };
    Map::from_iter([
        read("gh_issue_list", "Open issues.", &["gh", "issue", "list"]),
        one("gh_issue_view", "One issue with its comments.", "issue"),
        read("gh_pr_list", "Open pull requests.", &["gh", "pr", "list"]),
        one("gh_pr_view", "One pull request with its comments.", "pr"),
    ])
}

fn package(folder: &Path) -> Result<Map<String, Value>, Failure> {
    let path = folder.join("package.json");
    let unusable = |reason: String| {
        Failure::usage(format!("--include package: `{}`: {reason}", path.display()))
    };
    let size = std::fs::metadata(&path).map_err(|error| unusable(error.to_string()))?.len();
    if size > MAX_PACKAGE_BYTES {
        return Err(unusable("the file is too large".to_owned()));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| unusable(error.to_string()))?;
    let parsed: Value =
        serde_json::from_str(&text).map_err(|error| unusable(format!("not JSON: {error}")))?;
    let scripts = parsed.get("scripts").and_then(Value::as_object).cloned().unwrap_or_default();
    let runner = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun")]
        .into_iter()
        .find(|(file, _)| folder.join(file).exists())
        .map_or("npm", |(_, runner)| runner);
    let actions: Map<String, Value> = scripts
        .keys()
        .map(|script| {
            let action = json!({
                "description": format!("Run the script `{script}`."),
                "command": runner,
                "args": ["run", script],
                "timeoutMs": 600_000,
            });
            (tool_name(script), action)
        })
        .collect();
    if actions.is_empty() {
        return Err(unusable("it has no scripts".to_owned()));
    }
    Ok(actions)
}

fn tool_name(script: &str) -> String {
    let legal =
        |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = script.chars().map(legal).take(56).collect();
    format!("package_{name}")
}

fn read(name: &str, about: &str, words: &[&str]) -> (String, Value) {
    let (command, args) = words.split_first().unwrap_or((&"", &[]));
    let action = json!({
        "description": about,
        "command": command,
        "args": args,
        "annotations": { "readOnlyHint": true },
    });
    (name.to_owned(), action)
}

fn with_input((name, mut action): (String, Value), input: &str, schema: &Value) -> (String, Value) {
    action["inputSchema"] =
        json!({ "type": "object", "properties": { input: schema }, "required": [input] });
    (name, action)
}
