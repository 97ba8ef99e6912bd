//! Finds in the output of a program the line that says why it failed.

use std::borrow::Cow;

/// Longer reasons are cut.
const MAX_REASON_BYTES: usize = 400;

/// What programs write around a reason, and never is one.
const NOISE: [&str; 16] = [
    "at ",
    "^",
    "Node.js v",
    "npm warn",
    "npm WARN",
    "npm notice",
    "npm error A complete log",
    "npm ERR! A complete log",
    "Traceback (most recent call last)",
    "Exception Group Traceback",
    "File \"",
    "See 'docker",
    "Run 'docker run --help'",
    "For further information visit",
    "During handling of the above",
    "The above exception was",
];

/// Words of a line that says what is wrong, in lower case.
const COMPLAINTS: [&str; 25] = [
    "error",
    "failed",
    "failure",
    "fatal",
    "panic",
    "exception",
    "cannot",
    "can't",
    "could not",
    "unable to",
    "missing",
    "required",
    "not found",
    "not set",
    "does not",
    "no such",
    "invalid",
    "unknown",
    "unexpected",
    "denied",
    "unauthorized",
    "must be",
    "must provide",
    "please ",
    "usage:",
];

/// How surely a line is the reason. Of equals, a later line counts, unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    Complaint,
    /// A line in the form of an error of some program.
    ErrorLine,
    /// The line in which a runtime, an installer or a parser of arguments sums up.
    Summary,
}

/// The reason in the output of a program that failed. `None` when no line looks like one.
pub(crate) fn failure_reason(output: &str) -> Option<String> {
    let lines: Vec<Cow<'_, str>> = output.lines().map(without_escapes).collect();
    let mut best: Option<(Certainty, usize)> = None;
    for (place, line) in lines.iter().enumerate() {
        let Some(certainty) = certainty(line, is_panic_text(&lines, place)) else { continue };
        let wins = match best {
            None => true,
            // npm says the reason first, and then what might be done.
            Some((before, _)) if before == certainty => !bare(line).starts_with("npm "),
            Some((before, _)) => certainty > before,
        };
        if wins {
            best = Some((certainty, place));
        }
    }
    let (_, place) = best?;
    Some(cut(&with_continuation(&lines, place)))
}

/// The last line that says anything.
pub(crate) fn last_line(output: &str) -> Option<String> {
    let lines = output.lines().rev().map(without_escapes);
    let said = lines.map(|line| bare(&line).to_owned()).find(|line| !line.is_empty());
    said.map(|line| cut(&line))
}

fn certainty(line: &str, is_panic_text: bool) -> Option<Certainty> {
    let text = bare(line);
    if text.is_empty() || NOISE.iter().any(|noise| text.starts_with(noise)) {
        return None;
    }
    if is_panic_text {
        return Some(Certainty::Summary);
    }
    if let Some(said) = npm_error(text) {
        return npm_certainty(said);
    }
    let is_indented = line.starts_with([' ', '\t']) && !line.contains(['|', '│', '╰', '×']);
    if !is_indented && (is_exception(text) || is_summary(line, text)) {
        return Some(Certainty::Summary);
    }
    let lower = text.to_lowercase();
    if ["error:", "fatal:", "panic:", "fatal error:", "[error]"]
        .iter()
        .any(|start| lower.starts_with(start))
    {
        return Some(Certainty::ErrorLine);
    }
    // Code that is quoted in a stack trace contains such words, too.
    let is_code = is_indented || text.ends_with([';', '{']);
    (!is_code && COMPLAINTS.iter().any(|word| lower.contains(word))).then_some(Certainty::Complaint)
}

/// `ModuleNotFoundError: No module named 'x'`, `Error: missing environment variable X`.
fn is_exception(text: &str) -> bool {
    let name = text.split([':', ' ']).next().unwrap_or_default();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_error = ["Error", "Exception", "Exit", "NotCapable", "NotFound"]
        .iter()
        .any(|end| last.ends_with(end));
    let rest = text.get(name.len()..).unwrap_or_default();
    let is_said = rest.starts_with(": ") || (rest.is_empty() && name.len() > "Error".len());
    is_error
        && is_said
        && name.chars().all(is_name)
        && last.starts_with(|first: char| first.is_ascii_uppercase())
}

/// Installers, parsers of arguments and containers.
fn is_summary(line: &str, text: &str) -> bool {
    line.contains("╰─▶")
        || text.contains(": error: ")
        || text.starts_with("error: ")
        || text.starts_with("docker: ")
        || text.starts_with("Error response from daemon")
        || text.starts_with("go: ")
        || text.starts_with("An executable named ")
        || text.starts_with("env: ")
        || (text.starts_with("sh: ") && text.ends_with("not found"))
}

fn npm_error(text: &str) -> Option<&str> {
    text.strip_prefix("npm error ").or_else(|| text.strip_prefix("npm ERR! "))
}

fn npm_certainty(said: &str) -> Option<Certainty> {
    let (topic, rest) = said.split_once(' ').unwrap_or((said, ""));
    match topic {
        "code" | "errno" | "syscall" | "path" | "signal" | "command" | "dest" | "type" => None,
        "404" | "notarget" | "network" | "could" if !rest.trim().is_empty() => {
            Some(Certainty::Summary)
        }
        _ => Some(Certainty::ErrorLine),
    }
}

/// The message of a Rust panic stands on the line below.
fn is_panic_text(lines: &[Cow<'_, str>], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| lines.get(before));
    before.is_some_and(|line| line.starts_with("thread '") && line.contains("panicked at"))
}

/// The line, with what its program writes below it about the same thing.
fn with_continuation(lines: &[Cow<'_, str>], place: usize) -> String {
    let Some(first) = lines.get(place) else { return String::new() };
    let mut reason = bare(first).to_owned();
    let below = lines.get(place + 1..).unwrap_or_default();
    let is_resolution = first.contains("╰─▶");
    let is_validation = reason.contains("validation error");
    for line in below {
        let text = bare(line);
        let goes_on = if is_resolution {
            line.starts_with("     ") && !text.starts_with("hint:")
        } else if is_validation {
            !text.starts_with("For further")
        } else {
            break;
        };
        if !goes_on || text.is_empty() || reason.len() > MAX_REASON_BYTES {
            break;
        }
        reason.push(' ');
        reason.push_str(text);
    }
    match last_cause(below) {
        Some(cause) => format!("{reason}: {cause}"),
        None => reason,
    }
}

/// What a chain of causes below an error ends with.
fn last_cause<'a>(below: &'a [Cow<'_, str>]) -> Option<&'a str> {
    let mut texts = below.iter().map(|line| bare(line)).filter(|text| !text.is_empty());
    let mut last = None;
    while let Some(text) = texts.next() {
        let Some(cause) = ["Caused by:", "cause:"].iter().find_map(|key| text.strip_prefix(key))
        else {
            break;
        };
        last = match cause.trim() {
            "" => texts.next(),
            cause => Some(cause),
        };
    }
    last
}

/// The text of a line without its place in a tree.
fn bare(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '|', '+', '-', '│', '╰', '─', '▶', '├', '×', '❌', '✖'])
        .trim_end()
}

fn without_escapes(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.next() == Some('[') {
            // A control sequence ends with a letter.
            letters.by_ref().find(|letter| ('@'..='~').contains(letter));
        }
    }
    Cow::Owned(plain)
}

fn cut(reason: &str) -> String {
    if reason.len() <= MAX_REASON_BYTES {
        return reason.to_owned();
    }
    let end = reason.floor_char_boundary(MAX_REASON_BYTES);
    format!("{}…", reason.get(..end).unwrap_or_default().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, reason: &str) {
        assert_eq!(failure_reason(output).as_deref(), Some(reason), "{output}");
    }

    #[test]
    fn npm() {
        check(
            "npm warn Unknown user config \"nodedir\".\n\
             npm error code E404\n\
             npm error 404 Not Found - GET https://registry.npmjs.org/@a%2fb - Not found\n\
             npm error 404\n\
             npm error 404  The requested resource '@a/b@*' could not be found.\n\
             npm error 404 Note that you can also install from a\n\
             npm error 404 tarball, folder, http url, or git folder.\n\
             npm error A complete log of this run can be found in: /root/.npm/_logs/a.log\n",
            "npm error 404 Not Found - GET https://registry.npmjs.org/@a%2fb - Not found",
        );
        check(
            "npm error could not determine executable to run\nnpm error A complete log of this run \
             can be found in: /a.log\n",
            "npm error could not determine executable to run",
        );
        check(
            "npm ERR! code ETARGET\nnpm ERR! notarget No matching version found for left-pad@99.\n\
             npm ERR! notarget In most cases you or one of your dependencies are requesting\n",
            "npm ERR! notarget No matching version found for left-pad@99.",
        );
    }

    #[test]
    fn node() {
        check(
            "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\n\
             Error: Cannot find module '/x/y.js'\n    \
             at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15) {\n  \
             code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2\n",
            "Error: Cannot find module '/x/y.js'",
        );
        check(
            "/a/index.js:12\n    throw new Error(\"missing environment variable X\");\n          ^\n\n\
             Error: missing environment variable X\n    at file:///a/index.js:12:7\n",
            "Error: missing environment variable X",
        );
        check(
            "Starting server...\nBRAVE_API_KEY environment variable is required\n",
            "BRAVE_API_KEY environment variable is required",
        );
    }

    #[test]
    fn python() {
        check(
            "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n\
             ModuleNotFoundError: No module named 'nosuch'\n",
            "ModuleNotFoundError: No module named 'nosuch'",
        );
        check(
            "usage: serve [-h] --token TOKEN\nserve: error: the following arguments are required: --token\n",
            "serve: error: the following arguments are required: --token",
        );
        check(
            "  + Exception Group Traceback (most recent call last):\n  \
             | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  \
             +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    \
             |   File \"/a.py\", line 3, in main\n    |     raise ValueError(\"no key\")\n    \
             | ValueError: API_KEY is not set\n    +------------------------------------\n",
            "ValueError: API_KEY is not set",
        );
        check(
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\napi_key\n  \
             Field required [type=missing, input_value={}, input_type=dict]\n    \
             For further information visit https://errors.pydantic.dev/2/v/missing\n",
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings api_key Field \
             required [type=missing, input_value={}, input_type=dict]",
        );
    }

    #[test]
    fn uv() {
        check(
            "error: No solution found when resolving tool dependencies\n  \
             cause: Because nosuch was not found in the package registry, your requirements are unsatisfiable.\n",
            "error: No solution found when resolving tool dependencies: Because nosuch was not found in the \
             package registry, your requirements are unsatisfiable.",
        );
        check(
            "  × No solution found when resolving tool dependencies:\n  \
             ╰─▶ Because nosuch was not found in the package registry and you require\n      \
             nosuch, we can conclude that your requirements are unsatisfiable.\n",
            "Because nosuch was not found in the package registry and you require nosuch, we can conclude that \
             your requirements are unsatisfiable.",
        );
        check(
            "error: unexpected argument '--x' found\n\nUsage: uvx [OPTIONS] [COMMAND]\n\n\
             For more information, try '--help'.\n",
            "error: unexpected argument '--x' found",
        );
        check(
            "Installed 1 package in 7ms\nPackage `six` does not provide any executables.\n",
            "Package `six` does not provide any executables.",
        );
        check(
            "Installed 30 packages in 90ms\n\u{1b}[1m\u{1b}[31merror\u{1b}[39m\u{1b}[0m: Failed to spawn: `a`\n  \
             Caused by: No such file or directory (os error 2)\n",
            "error: Failed to spawn: `a`: No such file or directory (os error 2)",
        );
    }

    #[test]
    fn containers_and_other_languages() {
        check(
            "Unable to find image 'a/b:latest' locally\ndocker: Error response from daemon: pull access denied \
             for a/b, repository does not exist.\nSee 'docker run --help'.\n",
            "docker: Error response from daemon: pull access denied for a/b, repository does not exist.",
        );
        check(
            "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n\
             \nRun 'docker run --help' for more information\n",
            "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        );
        check(
            "error: Uncaught (in promise) NotCapable: Requires env access to \"KEY\", run again with the --allow-env flag\n    \
             at file:///a.ts:1:1\n",
            "error: Uncaught (in promise) NotCapable: Requires env access to \"KEY\", run again with the --allow-env flag",
        );
        check(
            "go: example.org/a@latest: unrecognized import path \"example.org/a\": dial tcp: no such host\n",
            "go: example.org/a@latest: unrecognized import path \"example.org/a\": dial tcp: no such host",
        );
        check(
            "2026/01/02 03:04:05 starting\n2026/01/02 03:04:05 GITHUB_TOKEN not set\n",
            "2026/01/02 03:04:05 GITHUB_TOKEN not set",
        );
        check(
            "thread 'main' panicked at src/main.rs:2:5:\nKEY is empty\nnote: run with `RUST_BACKTRACE=1`\n",
            "KEY is empty",
        );
        check(
            "Error: cannot serve\n\nCaused by:\n    port in use\n",
            "Error: cannot serve: port in use",
        );
        check("sh: 1: serve-it: not found\n", "sh: 1: serve-it: not found");
    }

    #[test]
    fn ordinary_output_is_no_reason() {
        assert_eq!(failure_reason("Downloading pandas (12 MiB)\nlistening on stdio\n"), None);
        assert_eq!(last_line("one\n\n  two  \n\n").as_deref(), Some("two"));
        let long = format!("error: {}", "é".repeat(500));
        let reason = failure_reason(&long).unwrap();
        assert!(reason.len() <= MAX_REASON_BYTES + 3 && reason.ends_with('…'), "{reason}");
    }
}
