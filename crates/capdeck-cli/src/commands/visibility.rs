//! `capdeck why … --for CLIENT`: whether that agent sees it, by the entry in its own file.

use capdeck_host::{SessionScope, Visibility};
use capdeck_install::{AgentClient, ClientEntryRecords, ClientEntryTarget, connected_entry};
use clap::Parser as _;
use serde_json::{Value, json};

use super::{
    CapdeckCommand,
    connect::{NAME, client, folders, targets},
};
use crate::{
    args::CommandLineArgs,
    commands::CommandContext,
    errors::{CommandFailure, CommandResult},
    plain_text::{command_line, one_line, without_nulls},
    printer::TextStyle,
    settings::CommandSettings,
};

/// One entry of the agent, and what it means for the capability or tool.
struct EntryAnswer {
    target: ClientEntryTarget,
    /// What the agent starts or reaches.
    launch: String,
    visibility: Visibility,
}

/// `name`: what the policy knows the agent by.
pub(super) fn why_for(
    id: &str,
    tool: Option<&str>,
    agent: &str,
    name: &str,
    context: &CommandContext<'_>,
) -> CommandResult {
    let agent = client(agent)?;
    let name = if name.is_empty() { agent.id } else { name };
    let settings = context.settings()?;
    let records = ClientEntryRecords::new(&settings.state_dir);
    let mut answers = Vec::new();
    for target in targets(agent, None, NAME, &folders(&settings, context)?)? {
        if let Some(entry) = connected_entry(&target, &records)? {
            let words = launch_words(&entry);
            let visibility = answer(&words, id, tool, name, context)?;
            let launch = command_line(words.iter().map(String::as_str));
            answers.push(EntryAnswer { target, launch, visibility });
        }
    }
    let shown = tool.map_or_else(|| id.to_owned(), |tool| format!("{id}.{tool}"));
    if answers.is_empty() {
        // An unknown name is an error.
        Visibility::of(&settings.open_host()?, id, tool, name, &SessionScope::Operator)?;
    }
    print(&shown, agent, &answers, context)
}

fn print(
    shown: &str,
    agent: &AgentClient,
    answers: &[EntryAnswer],
    context: &CommandContext<'_>,
) -> CommandResult {
    let printer = context.printer;
    let is_visible = answers.iter().any(|answer| answer.visibility.is_visible);
    let items: Vec<Value> = answers
        .iter()
        .map(|answer| {
            without_nulls(json!({
                "scope": answer.target.scope,
                "file": answer.target.file,
                "launch": answer.launch,
                "visible": answer.visibility.is_visible,
                "because": answer.visibility.because,
            }))
        })
        .collect();
    let mut text = String::new();
    for answer in answers {
        let palette = printer.palette;
        let word = match answer.visibility.is_visible {
            true => palette.paint(TextStyle::Good, "sees"),
            false => palette.paint(TextStyle::Bad, "does not see"),
        };
        let because = one_line(&answer.visibility.because);
        text.push_str(&format!("{} {word} {}: {because}\n", agent.name, one_line(shown)));
        let (file, launch) = (answer.target.file.display(), one_line(&answer.launch));
        text.push_str(&format!("  entry  {file} ({launch})\n"));
    }
    if answers.is_empty() {
        text = format!("{} does not see {}: it is not connected\n", agent.name, one_line(shown));
    }
    let value =
        json!({ "target": shown, "client": agent.id, "visible": is_visible, "items": items });
    printer.json_or(&value, || {
        printer.data(&text);
        if answers.is_empty() {
            printer.note(&format!("connect it with: capdeck connect {}", agent.id));
        }
    })
}

/// The command line of an entry, or the address it has.
fn launch_words(entry: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |value: &Value| {
        value.as_array().map(|words| words.iter().filter_map(text).collect::<Vec<_>>())
    };
    match entry.get("command").or_else(|| entry.get("cmd")) {
        Some(Value::String(program)) => {
            let args = entry.get("args").and_then(list).unwrap_or_default();
            std::iter::once(program.clone()).chain(args).collect()
        }
        Some(words) => list(words).unwrap_or_default(),
        None => {
            let keys = ["url", "httpUrl", "serverUrl", "uri"];
            keys.iter().find_map(|key| text(entry.get(*key)?)).into_iter().collect()
        }
    }
}

/// What the process or host that the agent reaches would show it.
fn answer(
    words: &[String],
    id: &str,
    tool: Option<&str>,
    name: &str,
    context: &CommandContext<'_>,
) -> Result<Visibility, CommandFailure> {
    let unknown = |because: String| Ok(Visibility { is_visible: false, because });
    if let [address] = words
        && address.contains("://")
    {
        return unknown(format!("it reaches the host at {address}; ask there, or with --attach"));
    }
    let typed = std::iter::once("capdeck").chain(words.iter().skip(1).map(String::as_str));
    let Ok(parsed) = CommandLineArgs::try_parse_from(typed) else {
        return unknown("its entry is a command line that does not work".to_owned());
    };
    let settings = CommandSettings::resolve(&parsed.global, &context.env)?;
    match &parsed.command {
        CapdeckCommand::Serve(args) => match args.scope() {
            Some(scope) => Ok(Visibility::of(&settings.open_host()?, id, tool, name, &scope)?),
            None => unknown("its entry serves a capsule and nothing of the deck".to_owned()),
        },
        _ => unknown("its entry reaches another host; ask there, or with --attach".to_owned()),
    }
}
