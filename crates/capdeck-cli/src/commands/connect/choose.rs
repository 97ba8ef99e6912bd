//! Which agents are meant where none was named: those that are installed, as the person chooses.

use capdeck_install::{AgentClient, ClientEntryRecords, EntryPresence, presence};
use serde_json::json;

use super::{folders, target, targets};
use crate::{
    commands::CommandContext,
    errors::CommandFailure,
    plain_text::{command_line, one_line},
    printer::TerminalUser as _,
    settings::CommandSettings,
};

/// An agent that is installed here.
#[derive(Debug)]
pub(in crate::commands) struct FoundAgent {
    pub(in crate::commands) client: &'static AgentClient,
    /// What is known of it, in a few words.
    pub(in crate::commands) note: String,
    /// Whether there is nothing to do for it.
    pub(in crate::commands) is_done: bool,
}

/// The agents that are installed, with the file that would be written and whether it is connected.
pub(in crate::commands) fn installed_agents(
    name: &str,
    settings: &CommandSettings,
    records: &ClientEntryRecords,
    context: &CommandContext<'_>,
) -> Result<Vec<FoundAgent>, CommandFailure> {
    let folders = folders(settings, context)?;
    let mut found = Vec::new();
    for client in AgentClient::all() {
        let all = targets(client, None, name, &folders)?;
        if !client.is_installed(&folders) && !all.iter().any(|target| target.file.exists()) {
            continue;
        }
        let ours = all
            .into_iter()
            .find(|target| matches!(presence(target, records), Ok(EntryPresence::Ours)));
        let is_done = ours.is_some();
        let place = match ours {
            Some(target) => target,
            None => target(client, None, name, settings, context)?,
        };
        let file = one_line(&place.file.display().to_string());
        let note = if is_done { format!("connected, {file}") } else { file };
        found.push(FoundAgent { client, note, is_done });
    }
    Ok(found)
}

/// Asks which of them are meant. Where no one can be asked, the failure lists them and says what to type.
pub(in crate::commands) fn choose_agents(
    found: &[FoundAgent],
    command: &str,
    context: &CommandContext<'_>,
) -> Result<Vec<String>, CommandFailure> {
    let open: Vec<&FoundAgent> = found.iter().filter(|agent| !agent.is_done).collect();
    let ids: Vec<&str> = open.iter().map(|agent| agent.client.id).collect();
    let width = found.iter().map(|agent| agent.client.id.len()).max().unwrap_or_default();
    let lines: Vec<String> = found
        .iter()
        .map(|agent| format!("  {:<width$}  {}", agent.client.id, agent.note))
        .collect();
    let items: Vec<_> = found
        .iter()
        .map(|agent| json!({ "client": agent.client.id, "title": agent.client.name, "note": agent.note }))
        .collect();
    if found.is_empty() {
        return Err(CommandFailure::usage("no agent is installed here").hint(format!(
            "name one: capdeck {command} CLIENT; see them with: capdeck connect --list"
        )));
    }
    if open.is_empty() {
        let message = format!("there is nothing to {command}");
        return Err(CommandFailure::request("NOTHING_TO_DO", message)
            .with_details(lines.join("\n"))
            .with_data(json!({ "items": items })));
    }
    // `import` takes one agent, and the names of servers after it.
    let first = ids.first().copied().filter(|_| command == "import");
    let typed = first.map_or_else(|| ids.clone(), |first| vec![first]);
    let hint = format!("capdeck {command} {}", command_line(typed));
    let Some(mut person) = context.printer.asker() else {
        return Err(CommandFailure::usage("name the agents")
            .with_details(format!("installed here:\n{}", lines.join("\n")))
            .with_data(json!({ "items": items }))
            .hint(hint));
    };
    person.say(&format!("Installed agents:\n{}", lines.join("\n")));
    loop {
        let question = format!(
            "Which ones to {command}? (names, `all`, or nothing to stop) [{}] ",
            ids.join(" ")
        );
        let Some(answer) = person.line(&question) else { return Err(cancelled(command)) };
        let words: Vec<&str> = answer.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Err(cancelled(command));
        }
        if words == ["all"] {
            return Ok(ids.into_iter().map(str::to_owned).collect());
        }
        match words.iter().find(|word| AgentClient::find(word).is_none()) {
            Some(unknown) => person.say(&format!("there is no agent `{}`", one_line(unknown))),
            None => return Ok(words.into_iter().map(str::to_owned).collect()),
        }
    }
}

fn cancelled(command: &str) -> CommandFailure {
    CommandFailure::request("CANCELLED", "nothing was changed")
        .hint(format!("name the agents to be asked nothing: capdeck {command} CLIENT…"))
}
