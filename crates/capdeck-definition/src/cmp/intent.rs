//! `capability.json`: what a tool does.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::{
    check_keys,
    command::{CommandError, CommandTemplate},
    matcher, values,
};
use crate::{
    CmpIntent, CmpParam, CmpType,
    diagnostic::{Diagnostic, FileFindings},
    document::{PathStep, ValueNode, json},
    schema::CMP_CAPABILITY,
    shape::cmp_files::{IntentShape, ParamShape},
    suggest::{nearest_key, quoted_list},
    violation,
};

/// The longest name of a tool that clients accept.
const MAX_TOOL_NAME_LENGTH: usize = 64;

/// The intents by tool name. An intent that cannot be used costs itself and not its tool. `None` means that none is left,
/// or that the file as a whole cannot be read; the findings say why.
pub(super) fn read_all(
    text: &str,
    findings: &mut FileFindings,
) -> Option<IndexMap<String, CmpIntent>> {
    let root = json::parse(text).map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    let broken = broken_intents(&root, findings)?;
    check_keys(&root, &CMP_CAPABILITY.keys(), findings);
    let list = root.child("intents");
    let nodes = list.items();
    if nodes.is_empty() {
        let message = "the tool has no intents";
        let fix = "add one with `patterns` and a `command`";
        findings.at(list.place).error("no-intents", message, fix);
    }
    let mut intents = IndexMap::new();
    let mut numbers = HashMap::new();
    for (index, node) in nodes.iter().enumerate().filter(|(index, _)| !broken.contains(index)) {
        let mark = findings.mark();
        let Some(shape) = CMP_CAPABILITY.read::<IntentShape>(node, findings) else { continue };
        let intent = read_one(shape, node, findings);
        // A mistyped safety flag is found beside what reads well, and such an intent must not run.
        if let Some(intent) = intent.filter(|_| !findings.has_error_since(mark, &[BAD_PATTERN])) {
            let name = free_name(&intent, index, &intents, &mut numbers);
            intents.insert(name, intent);
        }
    }
    (!intents.is_empty()).then_some(intents)
}

/// The intents whose shape is wrong. `None` when something outside of them is.
fn broken_intents(root: &ValueNode, findings: &mut FileFindings) -> Option<HashSet<usize>> {
    let mut broken = HashSet::new();
    let mut is_usable = true;
    let violations = violation::check(&CMP_CAPABILITY, root);
    violation::report(violations, findings, |found| match found.steps.as_slice() {
        [PathStep::Key(key), PathStep::Index(index), ..] if key == "intents" => {
            broken.insert(*index);
        }
        _ => is_usable = false,
    })?;
    is_usable.then_some(broken)
}

/// The one error that costs a pattern and not the intent.
const BAD_PATTERN: &str = "bad-pattern";

fn read_one(
    shape: IntentShape,
    node: &ValueNode,
    findings: &mut FileFindings,
) -> Option<CmpIntent> {
    check_keys(node, &CMP_CAPABILITY.keys_of("Intent"), findings);
    let patterns = usable_patterns(&shape.patterns, node, findings);
    if patterns.is_empty() {
        let message = "no usable phrase leads to this intent";
        let fix = "add a plain phrase to `patterns`";
        findings.at(node.key_place("patterns")).error("no-patterns", message, fix);
    }
    let command = CommandTemplate::parse(&shape.command)
        .map_err(|error| findings.add(bad_command(&error).at(node.child("command").place)))
        .ok();
    let mut params = read_params(shape.params, node, findings);
    if let (Some(command), Some(params)) = (&command, &mut params) {
        compare_params(command, params, node, findings);
    }
    for variable in command.iter().flat_map(CommandTemplate::shell_variables) {
        findings.at(node.child("command").place).warning(
            "shell-variable",
            format!("`${variable}` stays as it is: commands are run without a shell"),
            "let the program read the variable, or make it a parameter; only `~` and `$HOME` are replaced",
        );
    }
    let destructive = shape.destructive.unwrap_or(false);
    let (command, params) = (command?, params?);
    (!patterns.is_empty()).then_some(CmpIntent {
        patterns,
        command,
        params,
        returns: shape.returns,
        confirm: destructive || shape.confirm.unwrap_or(false),
        destructive,
        idempotent: shape.idempotent.unwrap_or(true),
    })
}

/// The patterns without regular expressions that cannot be used: each is a problem of its own, not of the tool.
fn usable_patterns(
    patterns: &[String],
    node: &ValueNode,
    findings: &mut FileFindings,
) -> Vec<String> {
    let list = node.child("patterns");
    let mut usable = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let place = list.item(index).place;
        match matcher::expression(pattern) {
            _ if pattern.trim().is_empty() => findings.at(place).error(
                BAD_PATTERN,
                "the pattern is blank, and is left out",
                "write the phrase people would say",
            ),
            Some(Err(error)) => findings.at(place).error(
                BAD_PATTERN,
                format!("the regular expression cannot be used and is left out: {error}"),
                "correct it; look-around and back-references do not exist here",
            ),
            Some(Ok(_)) | None => usable.push(pattern.clone()),
        }
    }
    usable
}

fn bad_command(error: &CommandError) -> Diagnostic {
    let (code, fix) = match error {
        CommandError::Empty => ("empty-command", "name the program to run"),
        CommandError::OpenQuote { .. } => ("bad-command", "close the quote"),
        CommandError::LooseBackslash => ("bad-command", "remove the backslash, or double it"),
        CommandError::NeedsShell { .. } => {
            ("needs-shell", "quote it if it is meant as text, or put the script into `bin/`")
        }
        CommandError::OpenProgram { .. } => {
            ("open-program", "write the program, and use placeholders for its arguments only")
        }
        CommandError::ShellScript { .. } => (
            "shell-placeholder",
            "pass the value as a word of its own: `sh -c 'echo \"$1\"' sh {value}`",
        ),
    };
    Diagnostic::error(code, error.to_string(), fix)
}

/// A name from the first plain phrase that gives one, free of other intents' names. `numbers` holds the number that the
/// next intent of a name begins to look at.
fn free_name(
    intent: &CmpIntent,
    index: usize,
    taken: &IndexMap<String, CmpIntent>,
    numbers: &mut HashMap<String, usize>,
) -> String {
    let plain = intent.patterns.iter().filter(|pattern| !pattern.starts_with(matcher::EXPRESSION));
    let name = plain.map(|pattern| tool_name(pattern)).find(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("intent_{}", index + 1));
    if !taken.contains_key(&name) {
        return name;
    }
    let number = numbers.entry(name.clone()).or_insert(2);
    loop {
        let suffix = format!("_{number}");
        let stem: String = name.chars().take(MAX_TOOL_NAME_LENGTH - suffix.len()).collect();
        *number += 1;
        let numbered = format!("{stem}{suffix}");
        if !taken.contains_key(&numbered) {
            return numbered;
        }
    }
}

/// `Check email!` becomes `check_email`.
pub(crate) fn tool_name(phrase: &str) -> String {
    let lower = phrase.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    joined.chars().take(MAX_TOOL_NAME_LENGTH).collect()
}

/// The parameters by name. `None` means the findings say why.
fn read_params(
    shapes: IndexMap<String, ParamShape>,
    intent: &ValueNode,
    findings: &mut FileFindings,
) -> Option<IndexMap<String, CmpParam>> {
    let map = intent.child("params");
    let mut params = IndexMap::new();
    let mut is_sound = true;
    for (name, shape) in shapes {
        match read_param(shape, map.child(&name), findings) {
            Some(param) => drop(params.insert(name, param)),
            None => is_sound = false,
        }
    }
    is_sound.then_some(params)
}

/// Compares the command with the parameters. A placeholder that is not declared is a required text.
fn compare_params(
    command: &CommandTemplate,
    params: &mut IndexMap<String, CmpParam>,
    intent: &ValueNode,
    findings: &mut FileFindings,
) {
    let place = intent.child("command").place;
    for name in params.keys().filter(|name| !command.params().any(|used| used == *name)) {
        findings.at(intent.child("params").key_place(name)).warning(
            "unused-parameter",
            format!("the command does not use `{name}`"),
            format!("write `{{{name}}}` where its value goes, or remove it"),
        );
    }
    for name in command.params() {
        if params.contains_key(name) {
            continue;
        }
        let near = nearest_key(name, params.keys().map(String::as_str));
        let fix = match near {
            Some(near) => format!("did you mean `{{{near}}}`? Else declare it in `params`"),
            None => "declare it in `params`; until then it is a required string".to_owned(),
        };
        let message = format!("`{{{name}}}` is not declared");
        findings.at(place).warning("undeclared-parameter", message, fix);
        params.insert(name.to_owned(), CmpParam::undeclared());
    }
    let mut pairs = command.words().iter().zip(command.words().iter().skip(1));
    let is_open = |name: &str| {
        params.get(name).is_some_and(|param| !param.required && param.default.is_none())
    };
    let left = pairs.find(|(flag, word)| {
        let flag = flag.to_string();
        flag.len() > 1
            && flag.starts_with('-')
            && !flag.starts_with("--")
            && word.only_param().is_some_and(is_open)
    });
    if let Some((flag, word)) = left {
        let message = format!("`{flag}` stays when `{word}` is left out, and takes the next word");
        let fix = "use the long form of the flag, or give the parameter a default";
        findings.at(place).warning("loose-flag", message, fix);
    }
}

fn read_param(
    shape: ParamShape,
    node: &ValueNode,
    findings: &mut FileFindings,
) -> Option<CmpParam> {
    check_keys(node, &CMP_CAPABILITY.keys_of("Parameter"), findings);
    let place = node.child("type").place;
    let Some(kind) = CmpType::ALL.into_iter().find(|kind| kind.as_str() == shape.kind) else {
        let known = CmpType::ALL.iter().filter(|kind| kind.is_listed());
        let listed = quoted_list(known.map(|kind| kind.as_str()));
        let fix = nearest_key(&shape.kind, CmpType::ALL.map(CmpType::as_str))
            .map_or_else(|| format!("use {listed}"), |near| format!("write `{near}`"));
        findings.at(place).error("unknown-type", format!("there is no type `{}`", shape.kind), fix);
        return None;
    };
    if !kind.is_listed() {
        let message = format!("the specification does not list the type `{}`", kind.as_str());
        let fix = "it works here; other programs may not know it";
        findings.at(place).warning("unlisted-type", message, fix);
    }
    let param = CmpParam {
        kind,
        required: shape.required.unwrap_or(false),
        default: shape.default,
        description: shape.description,
        choices: shape.choices,
        allow_leading_dash: shape.allow_leading_dash,
    };
    let mut is_sound = true;
    if let Some(default) = &param.default
        && let Err(problem) = values::check(&param, default)
    {
        is_sound = false;
        let message = format!("invalid default: {problem}");
        let fix = "correct the default, or the type";
        findings.at(node.child("default").place).error("bad-default", message, fix);
    }
    let item =
        CmpParam { kind: kind.items().unwrap_or(kind), choices: Vec::new(), ..param.clone() };
    for (index, choice) in param.choices.iter().enumerate() {
        if let Err(problem) = values::check(&item, choice) {
            is_sound = false;
            let message = format!("invalid choice: {problem}");
            let fix = "correct the choice, or the type";
            findings.at(node.child("enum").item(index).place).error("bad-choice", message, fix);
        }
    }
    is_sound.then_some(param)
}

#[cfg(test)]
mod tests {
    use super::tool_name;

    #[test]
    fn a_phrase_becomes_a_name() {
        for (phrase, name) in [
            ("check email", "check_email"),
            ("  What's new?  ", "what_s_new"),
            ("Top-10 / list", "top_10_list"),
            ("\u{43f}\u{43e}\u{447}\u{442}\u{430}", ""),
        ] {
            assert_eq!(tool_name(phrase), name);
        }
        assert_eq!(tool_name(&"long ".repeat(50)).len(), 64);
    }
}
