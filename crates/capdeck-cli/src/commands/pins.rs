//! `capdeck pins`: tool definitions as they were first seen, and what changed since.

use std::sync::Arc;

use capdeck_catalog::{
    Capability, DefinitionChange, MemberChange, MemberChangeKind, PinChange, shell_word,
};
use capdeck_definition::{PinMode, reveal};
use capdeck_host::{
    Host, PinItem, PinReview, approve_tools, known_capability, offered_tools, pin_changes,
    pin_items,
};
use serde_json::json;

use super::command_table;
use crate::{
    arguments::plain,
    commands::CommandContext,
    completion::{ids, tools_of_id},
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{one_line, written},
    printer::{ColorPalette, TextStyle},
    table::{TextTable, cell, styled},
};

command_table! {
    /// Review tools whose definitions changed since they were first seen
    ///
    /// For the warning that a tool's definition changed. The first sight of a tool's name, texts, schemas and annotations is pinned. A server that changes them later is reported, and
    /// with `pins: block` the changed tool is held until you approve it.
    pub(crate) enum PinsCommand default List {
        List(PinListArgs) => list,
        Diff(PinDiffArgs) => diff,
        Approve(PinApproveArgs) => approve,
    }
}

/// The capabilities a command is about, each with its review: one, or all that are watched.
fn reviews(
    host: &Host,
    id: Option<&str>,
) -> Result<Vec<(Arc<Capability>, PinReview)>, CommandFailure> {
    let capabilities = match id {
        Some(id) => vec![known_capability(host, id)?],
        None => {
            let catalog = host.catalog();
            let watched = catalog.capabilities().filter(|one| one.pins != PinMode::Off);
            watched.cloned().collect()
        }
    };
    capabilities.into_iter().map(|one| review(host, &one).map(|review| (one, review))).collect()
}

/// How a capability's tools compare with their pins.
pub(crate) fn review(host: &Host, capability: &Capability) -> Result<PinReview, CommandFailure> {
    let id = &capability.definition.id;
    PinReview::of(host, capability).map_err(|error| {
        let message = format!("the pins of `{id}` cannot be read: {error}");
        CommandFailure::request("PINS_UNREADABLE", message)
            .hint(format!("take what is there now as approved with: capdeck pins approve {id}"))
    })
}

/// List known tools and whether they changed since they were pinned
///
/// Nothing is connected: what is listed is what the servers said last.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct PinListArgs {
    /// Only this capability.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
}

fn list(args: &PinListArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let host = context.open_host()?;
    let reviews = reviews(&host, args.id.as_deref())?;
    let items: Vec<PinItem> = reviews
        .iter()
        .flat_map(|(capability, review)| {
            pin_items(capability, offered_tools(&host, capability).as_ref(), review)
        })
        .collect();
    printer.json_or(&json!({ "items": items }), || {
        let heading = ["CAPABILITY", "TOOL", "STATUS", "PINS", "DIGEST", "NOTE"];
        let table = TextTable::new(heading, &items, |item| {
            let style = if item.status == "pinned" { TextStyle::Good } else { TextStyle::Careful };
            let digest: String =
                item.digest.iter().flat_map(|digest| digest.chars().take(12)).collect();
            [
                cell(&item.capability),
                cell(&item.tool),
                styled(style, item.status),
                cell(written(item.mode)),
                styled(TextStyle::Dim, digest),
                cell(note_of(item)),
            ]
        });
        table.print(printer);
        for (capability, review) in &reviews {
            if review.book.as_ref().is_some_and(|book| book.is_repointed) {
                let id = &capability.definition.id;
                printer.warn(&format!("`{id}`: endpoint changed; tools pinned again"));
            }
        }
        if reviews.iter().any(|(_, review)| !review.is_clean()) {
            printer.note("see what changed with: capdeck pins diff");
        }
    })
}

fn note_of(item: &PinItem) -> String {
    let mut notes = Vec::new();
    if let Some(reason) = item.held {
        notes.push(format!("held: {}", reason.as_str()));
    }
    if let Some(first) = item.hidden_text.first() {
        let kinds: Vec<&str> = first.kinds.iter().map(|kind| kind.as_str()).collect();
        notes.push(format!("hidden text in {}: {}", first.at, kinds.join(", ")));
    }
    notes.join("; ")
}

/// Show what changed since tools were pinned
///
/// Exits with 1 when something changed. Hidden characters are spelled out.
#[derive(Debug, clap::Args)]
pub(crate) struct PinDiffArgs {
    /// Only this capability.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
    /// Only this tool of it.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

fn diff(args: &PinDiffArgs, context: &CommandContext<'_>) -> CommandResult {
    let PinDiffArgs { id, tool } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let mut items = Vec::new();
    let mut text = String::new();
    for (capability, review) in reviews(&host, id.as_deref())? {
        let id = capability.definition.id.as_str();
        items.extend(pin_changes(id, &review, tool.as_deref()));
        text.push_str(&diff_text(id, &review, tool.as_deref(), printer.palette));
    }
    let changed = !items.is_empty();
    printer.json_or(&json!({ "items": items }), || {
        if changed {
            printer.data(&text);
            printer.note("take it as it is now with: capdeck pins approve ID [TOOL]");
        } else {
            printer.note("everything is as it was pinned");
        }
    })?;
    Ok(ExitStatus::done_unless(changed))
}

/// One capability's share of the answer, of one tool or of all.
fn diff_text(id: &str, review: &PinReview, only: Option<&str>, palette: ColorPalette) -> String {
    let is_wanted = |tool: &str| only.is_none_or(|only| only == tool);
    let mut text = String::new();
    let heading = |text: &mut String, tool: &str, what: &str| {
        let name = palette.paint(TextStyle::Strong, &one_line(&format!("{id}.{tool}")));
        text.push_str(&format!("{name} {what}\n"));
    };
    if only.is_none() && review.book.as_ref().is_some_and(|book| book.is_repointed) {
        let name = palette.paint(TextStyle::Strong, id);
        text.push_str(&format!("{name}: endpoint changed; tools pinned again\n"));
    }
    for change in review.changes.iter().filter(|change| is_wanted(change.tool())) {
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
    for (tool, found) in review.hidden.iter().filter(|(tool, _)| is_wanted(tool)) {
        heading(&mut text, &reveal(tool), "has hidden text");
        for place in found {
            text.push_str(&format!("  {}: {}\n", place.at, one_line(&place.revealed)));
        }
    }
    text
}

fn write_part(text: &mut String, change: &DefinitionChange, palette: ColorPalette) {
    let mut lines = |path: &str, before: Option<String>, after: Option<String>| {
        text.push_str(&format!("  {path}\n"));
        for (mark, style, value) in [("-", TextStyle::Bad, before), ("+", TextStyle::Good, after)] {
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
                let (before, after) = (member.before.as_ref(), member.after.as_ref());
                lines(&path_of(change.part(), member), before.map(plain), after.map(plain));
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

/// Approve a capability's definitions as they are now
///
/// What was held is offered again; a running host notices by itself. Look first: capdeck pins diff ID
#[derive(Debug, clap::Args)]
pub(crate) struct PinApproveArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
    /// Only this tool.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

fn approve(args: &PinApproveArgs, context: &CommandContext<'_>) -> CommandResult {
    let PinApproveArgs { id, tool } = args;
    let host = context.open_host()?;
    let capability = known_capability(&host, id)?;
    let unknown = || {
        CommandFailure::request("NOT_KNOWN", format!("the tools of `{id}` are not known yet"))
            .hint(format!("ask for them with: capdeck tools {id}"))
    };
    let offered = offered_tools(&host, &capability).ok_or_else(unknown)?;
    let changes =
        PinReview::of(&host, &capability).map(|review| review.changes).unwrap_or_default();
    if let Some(name) = tool {
        let is_gone =
            |change: &PinChange| matches!(change, PinChange::Removed { tool } if tool == name);
        let exists = offered.tools.iter().any(|tool| tool.name() == name);
        if !exists && !changes.iter().any(is_gone) {
            let failure =
                CommandFailure::request("TOOL_NOT_FOUND", format!("`{id}` has no tool `{name}`"));
            return Err(match host.catalog().nearest_tool(id, name) {
                Some(near) => failure.hint(format!("did you mean `{}`?", shell_word(near))),
                None => failure.hint(format!("see them with: capdeck pins list {id}")),
            });
        }
    }
    let count = approve_tools(&host, &capability, tool.as_deref())
        .map_err(|error| {
            CommandFailure::request("FILE_ERROR", format!("cannot save the pins: {error}"))
        })?
        .ok_or_else(unknown)?;
    let what = tool.as_deref().map_or_else(|| id.clone(), |tool| format!("{id}.{tool}"));
    let approved = json!({ "id": id, "tool": tool, "approved": count });
    context.printer.answer(&approved, &format!("approved as it is now: {what}"))
}
