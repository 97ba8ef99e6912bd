//! `capdeck connect --list`: which agents are here, and which are connected.

use capdeck_install::{
    AgentClient, ClientEntryRecords, ClientEntryTarget, ClientScope, EntryPresence, presence,
};
use serde_json::{Value, json};

use super::folders;
use crate::{
    context::CommandContext,
    errors::{CommandResult, ExitStatus},
    printer::TextStyle,
    settings::CommandSettings,
    table::{TableCell, TextTable},
};

/// One file of one agent.
struct ClientRow {
    target: ClientEntryTarget,
    is_installed: bool,
    exists: bool,
    presence: Result<EntryPresence, String>,
}

pub(super) fn run(
    scope: Option<ClientScope>,
    name: &str,
    settings: &CommandSettings,
    records: &ClientEntryRecords,
    context: &CommandContext<'_>,
) -> CommandResult {
    let folders = folders(settings, context)?;
    let mut rows = Vec::new();
    for client in AgentClient::all() {
        let wanted =
            client.scopes().into_iter().filter(|one| scope.is_none_or(|scope| scope == *one));
        // A project's file is nowhere when there is no project.
        let targets =
            wanted.filter_map(|scope| ClientEntryTarget::new(client, scope, name, &folders).ok());
        for target in targets {
            rows.push(ClientRow {
                is_installed: client.is_installed(&folders),
                exists: target.file.exists(),
                presence: presence(&target, records).map_err(|error| error.to_string()),
                target,
            });
        }
    }
    if context.printer.wants_json() {
        let items: Vec<Value> = rows.iter().map(to_json).collect();
        context.printer.json(&json!({ "items": items }));
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(["CLIENT", "SCOPE", "STATUS", "FILE"]);
    for row in &rows {
        let status = match &row.presence {
            Ok(EntryPresence::Ours) => TableCell::styled(TextStyle::Good, "connected"),
            Ok(EntryPresence::Foreign) => TableCell::styled(TextStyle::Careful, "name taken"),
            Ok(EntryPresence::Absent) if row.is_installed || row.exists => {
                TableCell::plain("not connected")
            }
            Ok(EntryPresence::Absent) => TableCell::dim("not found"),
            Err(_) => TableCell::styled(TextStyle::Bad, "unreadable"),
        };
        table.row([
            TableCell::plain(row.target.client.id),
            TableCell::plain(row.target.scope.as_str()),
            status,
            TableCell::plain(row.target.file.display().to_string()),
        ]);
    }
    table.print(context.printer);
    for problem in rows.iter().filter_map(|row| row.presence.as_ref().err()) {
        context.printer.warn(problem);
    }
    Ok(ExitStatus::Done)
}

/// `{client, title, scope, file, key, installed, exists, status, problem?}`.
fn to_json(row: &ClientRow) -> Value {
    let client = row.target.client;
    let status = match &row.presence {
        Ok(EntryPresence::Ours) => "connected",
        Ok(EntryPresence::Foreign) => "taken",
        Ok(EntryPresence::Absent) => "absent",
        Err(_) => "unreadable",
    };
    let mut item = json!({
        "client": client.id,
        "title": client.name,
        "scope": row.target.scope.as_str(),
        "isDefaultScope": row.target.scope == client.default_scope,
        "file": row.target.file,
        "key": client.key(),
        "installed": row.is_installed,
        "exists": row.exists,
        "status": status,
    });
    if let Err(problem) = &row.presence {
        item["problem"] = json!(problem);
    }
    item
}
