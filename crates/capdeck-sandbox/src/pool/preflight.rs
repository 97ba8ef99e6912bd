//! Checks the names and literal arguments of the code before it runs.

use capdeck_catalog::nearest;
use serde_json::Value;

use super::type_checker::CheckError;
use crate::{
    DeckOperation,
    declarations::{call_text, member_of},
    envelope::{CodeDiagnostic, CodeSeverity},
    host_interface::CapabilityDirectory,
    protocol::{CapabilityUse, MemberUse, TypeCheckResult},
    run::TypeCheck,
};

const MAX_PROBLEMS: usize = 50;

pub(super) fn problems(
    uses: &[CapabilityUse],
    directory: &dyn CapabilityDirectory,
) -> Vec<CodeDiagnostic> {
    let known = directory.capabilities();
    let mut found: Vec<CodeDiagnostic> = Vec::new();
    for used in uses {
        if found.len() >= MAX_PROBLEMS {
            break;
        }
        if !known.contains(&used.capability) {
            // Code that asks for a capability first runs also without it.
            let asks = |one: &CapabilityUse| one.guarded && one.capability == used.capability;
            if uses.iter().any(asks) {
                continue;
            }
            let near = nearest(&used.capability, known.iter().map(String::as_str));
            let near = near.map(|id| format!("caplets{}", member_of(id)));
            let message = unknown("capability", &used.capability, None, near);
            let hint = "`await caplets.search(\"…\")` searches all of them";
            let message = format!("{message}; {hint}");
            let problem = CodeDiagnostic::at(
                used.location,
                CodeSeverity::Error,
                "UNKNOWN_CAPABILITY",
                message,
            );
            if !found.contains(&problem) {
                found.push(problem);
            }
        } else if let Some(member) = &used.member {
            found.extend(member_problems(&used.capability, member, directory));
        }
    }
    found
}

pub(super) fn of_types(
    checked: Result<TypeCheckResult, CheckError>,
    wanted: TypeCheck,
) -> (Vec<CodeDiagnostic>, Vec<(String, String)>) {
    let severity =
        if wanted == TypeCheck::Full { CodeSeverity::Error } else { CodeSeverity::Warning };
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            tracing::warn!(%error, "a cell could not be checked");
            let message = format!("{error}; without `check` the code runs unchecked");
            let problem = CodeDiagnostic::about(severity, "TYPE_CHECK_FAILED", message);
            return (vec![problem], Vec::new());
        }
    };
    let mut diagnostics: Vec<CodeDiagnostic> = checked
        .problems
        .into_iter()
        .take(MAX_PROBLEMS)
        .map(|one| CodeDiagnostic::at(one.location, severity, &one.code, one.message))
        .collect();
    if checked.unchecked {
        let message = "`@ts-nocheck` is at the top: the types were not checked";
        diagnostics.push(CodeDiagnostic::about(CodeSeverity::Info, "ts_nocheck_applied", message));
    }
    (diagnostics, checked.types)
}

fn member_problems(
    id: &str,
    member: &MemberUse,
    directory: &dyn CapabilityDirectory,
) -> Vec<CodeDiagnostic> {
    let problem = |code: &str, message| {
        vec![CodeDiagnostic::at(member.location, CodeSeverity::Error, code, message)]
    };
    let name = member.name.as_str();
    let tools = directory.tools(id);
    let has_tool =
        |tool: &str| tools.as_ref().is_none_or(|tools| tools.iter().any(|known| known == tool));
    let tool_names = || tools.iter().flatten().map(String::as_str);
    let is_method = DeckOperation::ON_CAPABILITY.iter().any(|method| method.script_name() == name);
    if name == "id" || matches!(name, "then" | "toJSON" | "constructor") {
        return Vec::new();
    }
    if !is_method {
        if name == "call" {
            let handle = format!("caplets{}", member_of(id));
            let message =
                format!("`{handle}.call` is not a method: use `{handle}.callTool(name, args)`");
            return problem("INVALID_CAPLET_METHOD", message);
        }
        if !has_tool(name) {
            let mut candidates: Vec<&str> = tool_names().collect();
            candidates.extend(DeckOperation::ON_CAPABILITY.map(DeckOperation::script_name));
            let near = nearest(name, candidates).map(|near| match has_tool(near) {
                true => call_text(id, near, "…"),
                false => format!("caplets{}.{near}(…)", member_of(id)),
            });
            return problem("UNKNOWN_TOOL", unknown("tool or method", name, Some(id), near));
        }
        return argument_problems(id, name, member, directory);
    }
    // These never throw: the script gets the failure as a result, and may expect it.
    let mut found = match &member.tool {
        Some(tool) if !has_tool(tool) => {
            let near = nearest(tool, tool_names()).map(|near| Value::from(near).to_string());
            problem("UNKNOWN_TOOL", unknown("tool", tool, Some(id), near))
        }
        Some(tool) if name == DeckOperation::CallTool.script_name() => {
            argument_problems(id, tool, member, directory)
        }
        _ => Vec::new(),
    };
    found.iter_mut().for_each(|problem| problem.severity = CodeSeverity::Warning);
    found
}

fn argument_problems(
    id: &str,
    tool: &str,
    member: &MemberUse,
    directory: &dyn CapabilityDirectory,
) -> Vec<CodeDiagnostic> {
    let literal =
        member.arguments.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(literal) = literal else { return Vec::new() };
    let literal = if literal.is_null() { Value::Object(serde_json::Map::new()) } else { literal };
    let reasons = directory.check_arguments(id, tool, &literal);
    let diagnostics = reasons.into_iter().map(|reason| {
        let message = format!("a call of `{tool}` would fail: {reason}");
        CodeDiagnostic::at(member.location, CodeSeverity::Error, "INVALID_ARGUMENTS", message)
    });
    diagnostics.collect()
}

/// `near` is the probable name, as code writes it.
fn unknown(what: &str, name: &str, inside: Option<&str>, near: Option<String>) -> String {
    let place = inside.map(|id| format!(" in `{id}`")).unwrap_or_default();
    match near {
        Some(near) => format!("there is no {what} `{name}`{place}, did you mean `{near}`?"),
        None => format!("there is no {what} `{name}`{place}"),
    }
}
