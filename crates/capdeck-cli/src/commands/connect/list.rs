//! `capdeck connect --list`: which agents are here, and which are connected.

use capdeck_install::{Client, Presence, Records, Scope, Target, presence};
use serde_json::{Value, json};

use super::folders;
use crate::{
    context::Context,
    errors::{CommandResult, ExitStatus},
    printer::Style,
    settings::Settings,
    table::{Cell, Table},
};

/// One file of one agent.
struct ClientRow {
    target: Target,
    is_installed: bool,
    exists: bool,
    presence: Result<Presence, String>,
}

pub(super) fn run(
    scope: Option<Scope>,
    name: &str,
    settings: &Settings,
    records: &Records,
    context: &Context<'_>,
) -> CommandResult {
    let folders = folders(settings, context)?;
    let mut rows = Vec::new();
    for client in Client::all() {
        let wanted =
            client.scopes().into_iter().filter(|one| scope.is_none_or(|scope| scope == *one));
        // A project's file is nowhere when there is no project.
        let targets = wanted.filter_map(|scope| Target::new(client, scope, name, &folders).ok());
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
    let mut table = Table::new(["CLIENT", "SCOPE", "STATUS", "FILE"]);
    for row in &rows {
        let status = match &row.presence {
            Ok(Presence::Ours) => Cell::styled(Style::Good, "connected"),
            Ok(Presence::Foreign) => Cell::styled(Style::Careful, "name taken"),
            Ok(Presence::Absent) if row.is_installed || row.exists => Cell::plain("not connected"),
            Ok(Presence::Absent) => Cell::dim("not found"),
            Err(_) => Cell::styled(Style::Bad, "unreadable"),
        };
        table.row([
            Cell::plain(row.target.client.id),
            Cell::plain(row.target.scope.as_str()),
            status,
            Cell::plain(row.target.file.display().to_string()),
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
        Ok(Presence::Ours) => "connected",
        Ok(Presence::Foreign) => "taken",
        Ok(Presence::Absent) => "absent",
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
