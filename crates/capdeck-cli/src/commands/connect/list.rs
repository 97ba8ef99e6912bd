//! `capdeck connect --list`: which agents are here, and which are connected.

use capdeck_install::{
    AgentClient, ClientEntryRecords, ClientEntryTarget, ClientScope, EntryPresence, presence,
};
use serde_json::{Value, json};

use super::folders;
use crate::{
    context::CommandContext,
    errors::CommandResult,
    plain_text::without_nulls,
    printer::TextStyle,
    settings::CommandSettings,
    table::{TextTable, cell, styled},
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
    let items: Vec<Value> = rows.iter().map(to_json).collect();
    let printer = context.printer;
    printer.json_or(&json!({ "items": items }), || {
        let table = TextTable::new(["CLIENT", "SCOPE", "STATUS", "FILE"], &rows, |row| {
            let status = match &row.presence {
                Ok(EntryPresence::Ours) => styled(TextStyle::Good, "connected"),
                Ok(EntryPresence::Foreign) => styled(TextStyle::Careful, "name taken"),
                Ok(EntryPresence::Absent) if row.is_installed || row.exists => {
                    cell("not connected")
                }
                Ok(EntryPresence::Absent) => styled(TextStyle::Dim, "not found"),
                Err(_) => styled(TextStyle::Bad, "unreadable"),
            };
            let target = &row.target;
            let file = cell(target.file.display());
            [cell(target.client.id), cell(target.scope.as_str()), status, file]
        });
        table.print(printer);
        for problem in rows.iter().filter_map(|row| row.presence.as_ref().err()) {
            printer.warn(problem);
        }
    })
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
    without_nulls(json!({
        "client": client.id,
        "title": client.name,
        "scope": row.target.scope.as_str(),
        "isDefaultScope": row.target.scope == client.default_scope,
        "file": row.target.file,
        "key": client.key(),
        "installed": row.is_installed,
        "exists": row.exists,
        "status": status,
        "problem": row.presence.as_ref().err(),
    }))
}
