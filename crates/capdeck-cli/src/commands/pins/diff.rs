//! `capdeck pins diff [ID [TOOL]]`: what changed since the definitions were pinned.

use capdeck_catalog::{DefinitionChange, MemberChange, MemberChangeKind, PinChange};
use capdeck_definition::reveal;
use capdeck_host::{PinReview, pin_changes};
use serde_json::{Value, json};

use super::reviews;
use crate::{
    completion::{ids, tools_of_id},
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    printer::{Palette, Style},
};

/// Show what changed since tools were pinned
///
/// Exits with 1 when something changed. Hidden characters are spelled out.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// Only this capability.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
    /// Only this tool of it.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

pub(super) fn run(args: &DiffArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let DiffArgs { id, tool } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let mut items = Vec::new();
    let mut text = String::new();
    for (capability, review) in reviews(&host, id.as_deref())? {
        let id = capability.definition.id.as_str();
        let part = Part { id, review: &review, only: tool.as_deref() };
        items.extend(pin_changes(id, &review, tool.as_deref()));
        text.push_str(&part.to_text(printer.palette()));
    }
    let changed = !items.is_empty();
    if printer.wants_json() {
        printer.json(&json!({ "items": items }));
    } else if changed {
        printer.data(&text);
        printer.note("take it as it is now with: capdeck pins approve ID [TOOL]");
    } else {
        printer.note("everything is as it was pinned");
    }
    Ok(if changed { ExitStatus::RequestFailed } else { ExitStatus::Done })
}

/// One capability's share of the answer.
struct Part<'a> {
    id: &'a str,
    review: &'a PinReview,
    only: Option<&'a str>,
}

impl Part<'_> {
    fn changes(&self) -> impl Iterator<Item = &PinChange> {
        self.review.changes.iter().filter(|change| self.wants(change.tool()))
    }

    fn wants(&self, tool: &str) -> bool {
        self.only.is_none_or(|only| only == tool)
    }

    fn is_repointed(&self) -> bool {
        self.only.is_none() && self.review.book.as_ref().is_some_and(|book| book.is_repointed)
    }

    fn to_text(&self, palette: Palette) -> String {
        let mut text = String::new();
        let heading = |text: &mut String, tool: &str, what: &str| {
            let name = palette.paint(Style::Strong, &one_line(&format!("{}.{tool}", self.id)));
            text.push_str(&format!("{name} {what}\n"));
        };
        if self.is_repointed() {
            let name = palette.paint(Style::Strong, self.id);
            text.push_str(&format!("{name} leads somewhere else than before; pinned anew\n"));
        }
        for change in self.changes() {
            let (what, parts): (String, &[DefinitionChange]) = match change {
                PinChange::Added { .. } => ("is new".to_owned(), &[]),
                PinChange::Removed { .. } => ("is gone".to_owned(), &[]),
                PinChange::Renamed { from, changes, .. } => {
                    (format!("was `{}`", one_line(&reveal(from))), changes)
                }
                PinChange::Changed { changes, .. } => ("changed".to_owned(), changes),
            };
            heading(&mut text, &reveal(change.tool()), &what);
            parts.iter().for_each(|part| write_part(&mut text, part, palette));
        }
        for (tool, found) in self.review.hidden.iter().filter(|(tool, _)| self.wants(tool)) {
            heading(&mut text, &reveal(tool), "has hidden text");
            for place in found {
                text.push_str(&format!("  {}: {}\n", place.at, one_line(&place.revealed)));
            }
        }
        text
    }
}

fn write_part(text: &mut String, change: &DefinitionChange, palette: Palette) {
    let mut lines = |path: &str, before: Option<String>, after: Option<String>| {
        text.push_str(&format!("  {path}\n"));
        for (mark, style, value) in [("-", Style::Bad, before), ("+", Style::Good, after)] {
            if let Some(value) = value {
                let line = format!("    {mark} {}", one_line(&reveal(&value)));
                text.push_str(&format!("{}\n", palette.paint(style, &line)));
            }
        }
    };
    match change {
        DefinitionChange::Title { before, after }
        | DefinitionChange::Description { before, after } => {
            lines(change.part(), before.clone(), after.clone());
        }
        DefinitionChange::InputSchema { members }
        | DefinitionChange::OutputSchema { members }
        | DefinitionChange::Annotations { members } => {
            for member in members {
                lines(&path_of(change.part(), member), shown(&member.before), shown(&member.after));
            }
        }
    }
}

fn path_of(part: &str, member: &MemberChange) -> String {
    let path = one_line(&reveal(&member.path));
    let whole = if path.is_empty() { part.to_owned() } else { format!("{part}.{path}") };
    match member.kind {
        MemberChangeKind::Added => format!("{whole} (new)"),
        MemberChangeKind::Removed => format!("{whole} (gone)"),
        MemberChangeKind::Changed => whole,
    }
}

fn shown(value: &Option<Value>) -> Option<String> {
    value.as_ref().map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}
