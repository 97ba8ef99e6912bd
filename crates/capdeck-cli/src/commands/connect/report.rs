//! What was, or would be, done to agents' files.

use capdeck_install::{EntryChange, Plan};
use serde_json::{Value, json};

use crate::{
    context::Context,
    plain_text::one_line,
    printer::{Palette, Style},
};

/// Tells it: as text, or as `{items: [{client, scope, file, name, change, dryRun, diff?}]}`.
pub(in crate::commands) fn report(plans: &[Plan], dry_run: bool, context: &Context<'_>) {
    let printer = context.printer;
    if printer.wants_json() {
        let items: Vec<Value> = plans.iter().map(|plan| to_json(plan, dry_run)).collect();
        printer.json(&json!({ "items": items }));
        return;
    }
    for plan in plans {
        if dry_run {
            printer.data(&painted(&plan.diff(), printer.palette()));
        }
        printer.note(&line(plan, dry_run));
    }
    let wrote =
        plans.iter().any(|plan| matches!(plan.change, EntryChange::Add | EntryChange::Replace));
    if wrote && !dry_run {
        printer
            .note("restart the agent, or reload its MCP servers, to see your capabilities there");
    }
}

pub(in crate::commands) fn to_json(plan: &Plan, dry_run: bool) -> Value {
    let target = &plan.target;
    let mut item = json!({
        "client": target.client.id,
        "scope": target.scope.as_str(),
        "file": target.file,
        "name": target.name,
        "change": change(plan.change),
        "dryRun": dry_run,
    });
    if dry_run {
        item["diff"] = json!(plan.diff());
    }
    item
}

fn change(change: EntryChange) -> &'static str {
    match change {
        EntryChange::None => "none",
        EntryChange::Add => "add",
        EntryChange::Replace => "replace",
        EntryChange::Remove => "remove",
    }
}

fn line(plan: &Plan, dry_run: bool) -> String {
    let target = &plan.target;
    let (client, name) = (target.client.name, &target.name);
    let file = one_line(&target.file.display().to_string());
    let place = format!("{file} ({} scope)", target.scope.as_str());
    let would = if dry_run { "would be " } else { "" };
    match plan.change {
        EntryChange::None => format!("{client}: nothing to change in {place}"),
        EntryChange::Add => format!("{client}: `{name}` {would}added to {place}"),
        EntryChange::Replace => format!("{client}: `{name}` {would}replaced in {place}"),
        EntryChange::Remove if plan.after().is_none() => {
            format!("{client}: {place} {would}removed: nothing else was in it")
        }
        EntryChange::Remove => format!("{client}: `{name}` {would}taken out of {place}"),
    }
}

fn painted(diff: &str, palette: Palette) -> String {
    let line = |line: &str| match line.chars().next() {
        Some('+') => palette.paint(Style::Good, line).to_string(),
        Some('-') => palette.paint(Style::Bad, line).to_string(),
        _ => line.to_owned(),
    };
    diff.lines().map(|text| line(text) + "\n").collect()
}
