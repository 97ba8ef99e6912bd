//! `capdeck list`, `inspect` and `why`: what is in the deck, where it comes from, and who sees it.

use std::{path::PathBuf, sync::Arc};

use capdeck_catalog::{Capability, Catalog};
use capdeck_definition::{BackendKind, Exposure, PolicyEffect, SourceLayer, reveal};
use capdeck_host::{
    CapabilityReport, DeckSize, HealthStatus, ItemStatus, ListItem, View, capabilities_of_file,
    card, inspection, known_capability, list_items, tools_with_hidden_text,
};
use serde_json::{Value, json};

use super::{
    attach,
    check::{count_tokens, token_counter},
    connect::client_ids,
    visibility::why_for,
};
use crate::{
    arguments::plain,
    commands::CommandContext,
    completion::{ids, ids_and_tools, tools_of_id},
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{counted, deck_size, lines, one_line, time, written},
    printer::{ColorPalette, TextStyle},
    runtime::single_thread,
    table::{TextTable, cell, cell_or, styled},
    tool_target,
};

/// Show the capabilities of your deck and whether they work
///
/// A capability is an MCP server, an API or a set of commands. Its status is how it did when it was last used: `ok`, `failing`, or
/// `unchecked` while nothing was asked of it. Reads files only; `capdeck check` connects, `capdeck why ID` explains one.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Also show what is disabled, untrusted or broken.
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &ListArgs, context: &CommandContext<'_>) -> CommandResult {
    let host = context.open_host()?;
    let items = list_items(&host, &host.catalog());
    let (mut shown, left_out): (Vec<ListItem>, Vec<ListItem>) =
        items.into_iter().partition(|item| args.all || item.status.is_listed());
    let printer = context.printer;
    // Only programs are shown the number, so only they wait for the tokeniser.
    if printer.wants_json() {
        let count = direct_counter(host.catalog());
        for item in shown.iter_mut().filter(|item| item.tokens.is_some()) {
            item.tokens = Some(count(&item.id));
        }
    }
    printer.json_or(&json!({ "items": shown }), || {
        let nothing = "the deck is empty; put something into it with: capdeck add --help";
        table(&shown).print_or(nothing, printer);
        if printer.stdout_is_terminal && !shown.is_empty() {
            let size = deck_size(&DeckSize::of(&host.catalog()));
            printer.note(&format!("{size}; what they cost an agent: capdeck budget"));
        }
        for item in &shown {
            if let Some(chaos) = &item.chaos {
                printer.warn(&format!("`{}` has faults injected by `chaos`: {chaos}", item.id));
            }
            if item.import_problems > 0 {
                printer.warn(&format!(
                    "`{}`: {} could not be imported; see: capdeck why {}",
                    item.id,
                    counted(item.import_problems, "part", "parts"),
                    item.id
                ));
            }
            if let Some(explanation) = item.explanation() {
                let word = item.word();
                // A failure begins with the word already.
                match item.health {
                    HealthStatus::Failing { .. } if item.status == ItemStatus::Ready => {
                        printer.warn(&format!("{} is {explanation}", item.id));
                    }
                    _ => printer.note(&format!("{} is {word}: {explanation}", item.id)),
                }
            }
        }
    })?;
    note_left_out(&left_out, context);
    Ok(ExitStatus::Done)
}

/// Counts the tokens of a capability that is listed directly, as `capdeck budget` does.
fn direct_counter(catalog: Arc<Catalog>) -> impl Fn(&str) -> usize {
    let counter = token_counter();
    move |id| count_tokens(&counter, &View::alone(catalog.clone(), id, Exposure::Direct))
}

fn table(items: &[ListItem]) -> TextTable {
    let heading = ["ID", "STATUS", "BACKEND", "EXPOSURE", "TOOLS", "DESCRIPTION"];
    TextTable::new(heading, items, |item| {
        [
            cell(&item.id),
            styled(style(item), item.word()),
            cell_or("-", item.backend.map(BackendKind::as_str)),
            cell_or("-", item.exposure.map(written)),
            cell_or("?", item.tools),
            cell(&item.description),
        ]
    })
}

/// Broken and untrusted entries are never passed over in silence.
fn note_left_out(items: &[ListItem], context: &CommandContext<'_>) {
    for item in items.iter().filter(|item| item.status == ItemStatus::Quarantined) {
        let reason = item.reason.as_deref().unwrap_or_default();
        context.printer.warn(&format!("`{}` does not load: {reason}", item.id));
    }
    let count = |status: ItemStatus| items.iter().filter(|item| item.status == status).count();
    if count(ItemStatus::Quarantined) > 0 {
        context.printer.note("see what to correct with: capdeck validate");
    }
    let untrusted = count(ItemStatus::Untrusted);
    if untrusted > 0 {
        let what = if untrusted == 1 { "capability waits" } else { "capabilities wait" };
        context.printer.warn(&format!(
            "{untrusted} {what} for this project to be trusted; review it with: capdeck trust"
        ));
    }
}

/// The colour of a status.
pub(crate) fn style(item: &ListItem) -> TextStyle {
    match item.status {
        ItemStatus::Ready => match item.health {
            HealthStatus::Ok { .. } => TextStyle::Good,
            HealthStatus::Failing { .. } => TextStyle::Bad,
            _ => TextStyle::Careful,
        },
        ItemStatus::Stale | ItemStatus::Hidden | ItemStatus::Untrusted => TextStyle::Careful,
        ItemStatus::Quarantined => TextStyle::Bad,
        ItemStatus::Disabled => TextStyle::Dim,
    }
}

/// Show one capability: its status, settings, file and tools
///
/// For the schemas of a tool, see `capdeck describe`; for who sees it and why, `capdeck why`. Nothing is connected. The id of a file
/// that declares several capabilities shows them all.
#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
}

pub(crate) fn inspect(args: &InspectArgs, context: &CommandContext<'_>) -> CommandResult {
    let host = context.open_host()?;
    let printer = context.printer;
    let children = capabilities_of_file(&host.catalog(), &args.id);
    let count = direct_counter(host.catalog());
    let text = |one: &Capability| {
        let mut item = ListItem::from_capability(one, HealthStatus::of(&host, one));
        item.tokens = item.tokens.map(|_| count(&item.id));
        details(one, &item, printer.palette)
    };
    let report = |one: &Capability| {
        let mut report = inspection(&host, one);
        if !report["tokens"].is_null() {
            report["tokens"] = json!(count(one.definition.id.as_str()));
        }
        report
    };
    if !children.is_empty() {
        let items: Vec<Value> = children.iter().map(|child| report(child)).collect();
        let texts: Vec<String> = children.iter().map(|child| text(child)).collect();
        return printer.show(&json!({ "id": args.id, "items": items }), &texts.join("\n"));
    }
    let capability = known_capability(&host, &args.id)?;
    printer.show(&report(&capability), &text(&capability))
}

fn details(capability: &Capability, item: &ListItem, palette: ColorPalette) -> String {
    let definition = &capability.definition;
    let mut text = format!(
        "{}  {}\n{}\n\n",
        palette.paint(TextStyle::Strong, definition.id.as_str()),
        one_line(&definition.name),
        lines(definition.description.trim())
    );
    let mut fact = |name: &str, value: &str| {
        text.push_str(&format!(
            "{}{value}\n",
            palette.paint(TextStyle::Dim, &format!("{name:<11}"))
        ));
    };
    let status = item.word();
    match item.explanation() {
        Some(explanation) => fact("status", &format!("{status}: {}", one_line(&explanation))),
        None => fact("status", status),
    }
    fact("backend", &backend_text(&card(capability)));
    if let Some(chaos) = &item.chaos {
        fact("chaos", &format!("{} (faults injected on purpose)", one_line(chaos)));
    }
    if let Some(exposure) = item.exposure {
        fact("exposure", &written(exposure));
    }
    if !definition.tags.is_empty() {
        fact("tags", &one_line(&definition.tags.join(", ")));
    }
    let hints = &definition.hints;
    for (name, hint) in [("use when", &hints.use_when), ("avoid when", &hints.avoid_when)] {
        hint.iter().for_each(|hint| fact(name, &one_line(hint)));
    }
    fact("from", &definition.source.path.display().to_string());
    for shadowed in &item.shadows {
        fact("replaces", &shadowed.path.display().to_string());
    }
    match &capability.discovery {
        Some(known) => {
            let names: Vec<String> = known.tools.iter().map(|tool| one_line(tool.name())).collect();
            fact("tools", &format!("{} ({})", names.len(), names.join(", ")));
            if !known.problems.is_empty() {
                let count = counted(known.problems.len(), "part", "parts");
                let id = &definition.id;
                fact("problems", &format!("{count} could not be imported: capdeck why {id}"));
            }
            if !known.scopes.is_empty() {
                fact("scopes", &one_line(&known.scopes.join(" ")));
            }
            fact("tokens", &format!("{} when listed directly", item.tokens.unwrap_or(0)));
            let hidden = tools_with_hidden_text(capability);
            if !hidden.is_empty() {
                let names = hidden.iter().map(|name| one_line(&reveal(name)));
                let (names, id) = (names.collect::<Vec<_>>().join(", "), &definition.id);
                fact("hidden text", &format!("in {names}; see: capdeck pins diff {id}"));
            }
        }
        None => fact("tools", &format!("not known yet; ask with: capdeck tools {}", definition.id)),
    }
    text
}

/// `mcp (transport stdio, startupTimeoutMs 10000)`.
fn backend_text(card: &Value) -> String {
    let Some(facts) = card.get("backend").and_then(Value::as_object) else { return String::new() };
    let kind = facts.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_shown = |(name, value): &(&String, &Value)| {
        !["type", "disabled"].contains(&name.as_str()) && !value.is_null()
    };
    let shown = facts.iter().filter(is_shown);
    let details: Vec<String> =
        shown.map(|(name, value)| format!("{name} {}", plain(value))).collect();
    if details.is_empty() { kind.to_owned() } else { format!("{kind} ({})", details.join(", ")) }
}

/// Explain where a tool comes from, and who sees it
///
/// For the question "why does my agent not have this tool?". Names the file and the layer, what it replaces, its exposure and who chose it, what the policy and the pins say, what of its
/// description could not be imported, and its last failure.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The capability's id, or `ID.TOOL`.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: String,
    /// One of its tools.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
    /// Answer for this agent: whether it sees the capability or tool by the entry in its own file, and which rule decides.
    #[arg(long = "for", value_name = "CLIENT", value_parser = client_ids(), conflicts_with = "attach")]
    agent: Option<String>,
    /// Answer for a client of this name, when the policy tells clients apart.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    client: String,
    /// Answer for `capdeck attach URL`: what the running host there hides, and what hides it.
    #[arg(long, value_name = "URL")]
    attach: Option<String>,
    /// The file with that host's key. Without it the key is taken from CAPDECK_ATTACH_KEY.
    #[arg(long, value_name = "FILE", requires = "attach")]
    key_file: Option<PathBuf>,
}

/// How many parts that could not be imported are listed one by one.
const MAX_SHOWN_PROBLEMS: usize = 50;

pub(crate) fn why(args: &WhyArgs, context: &CommandContext<'_>) -> CommandResult {
    let (id, tool) = tool_target::split_words(&args.id, args.tool.as_ref())?;
    if let Some(agent) = &args.agent {
        return why_for(&id, tool.as_deref(), agent, &args.client, context);
    }
    let host = match &args.attach {
        None => context.open_host()?,
        Some(url) => {
            let (host, attachment) = attach::open(url, args.key_file.as_deref(), context)?;
            single_thread()?.block_on(attachment.attach_to(&host))?;
            host
        }
    };
    let account = CapabilityReport::of(&host, &id, tool.as_deref(), &args.client)
        .map_err(|error| add_alternatives(error.into(), &host.catalog(), &id))?;
    let printer = context.printer;
    printer.show(&account.to_json(), &account_text(&account, printer.palette))
}

/// Where an attached host has a capability of the same id and wants both offered, each has a name of its own.
fn add_alternatives(failure: CommandFailure, catalog: &Catalog, id: &str) -> CommandFailure {
    let end = format!("__{id}");
    let is_named = |known: &&str| {
        known.ends_with(&end) && (known.starts_with("local-") || known.starts_with("remote-"))
    };
    let ids = catalog.capabilities().map(|one| one.definition.id.as_str());
    let named: Vec<String> = ids.filter(is_named).map(|known| format!("`{known}`")).collect();
    match named.is_empty() {
        true => failure,
        false => failure.hint(format!("it is offered as {}", named.join(" and "))),
    }
}

fn account_text(account: &CapabilityReport, palette: ColorPalette) -> String {
    let item = &account.item;
    let status = palette.paint(style(item), item.word());
    let mut text = format!("{} is {status}\n", palette.paint(TextStyle::Strong, &item.id));
    let mut line = |name: &str, value: &str| {
        let name = palette.paint(TextStyle::Dim, &format!("  {name:<15}"));
        text.push_str(&format!("{name}{value}\n"));
    };
    if let Some(reason) = &item.reason {
        line("because", &one_line(reason));
    }
    if let Some(next_step) = &item.next_step {
        line("to do", next_step);
    }
    line("from", &format!("{} ({})", item.source.path.display(), layer_name(item.source.layer)));
    for shadowed in &item.shadows {
        let layer = layer_name(shadowed.layer);
        line("replaces", &format!("{} ({layer})", shadowed.path.display()));
    }
    if let Some(chaos) = &item.chaos {
        line("its calls fail", &format!("on purpose, by `chaos`: {}", one_line(chaos)));
    }
    if let Some(exposure) = item.exposure {
        line("exposure", &format!("{} ({})", written(exposure), account.exposure_from));
    }
    match (&account.seen, item.status) {
        (Some(seen), _) => line("agents see it", seen),
        (None, ItemStatus::Ready | ItemStatus::Stale) => {
            line("agents", "do not see it; it is for the command line only");
        }
        (None, _) => line("agents", "do not see it"),
    }
    if let Some(tool) = &account.tool {
        let name = tool["agentName"].as_str().unwrap_or_default();
        let how = if tool["listed"] == true { "listed as" } else { "not listed; callable as" };
        let effect = serde_json::from_value(tool["policy"].clone()).unwrap_or(PolicyEffect::Allow);
        let because = tool["policyBecause"].as_str().unwrap_or_default();
        match (effect, tool["held"].as_str()) {
            (PolicyEffect::Deny, _) => line("the tool", "does not exist for this client"),
            (_, Some(reason)) => line("the tool", &format!("held: {reason}")),
            _ if tool["requiredBySkill"] == false => line(
                "the tool",
                "is not shown to agents, because no skill of the capability file requires it",
            ),
            (PolicyEffect::Allow | PolicyEffect::Ask, None) => {
                line("the tool", &format!("{how} `{}`", one_line(name)));
            }
        }
        let effect = match effect {
            PolicyEffect::Allow => "allowed",
            PolicyEffect::Ask => "a person is asked first",
            PolicyEffect::Deny => "denied",
        };
        line("policy", &format!("{effect} ({because})"));
    }
    for note in &account.pins {
        line("pins", &one_line(note));
    }
    if !account.pins.is_empty() {
        line("", &format!("look at it with: capdeck pins diff {}", item.id));
    }
    if !account.left_out.is_empty() {
        let count = counted(account.left_out.len(), "part", "parts");
        line("problems", &format!("{count} could not be imported"));
    }
    for problem in account.left_out.iter().take(MAX_SHOWN_PROBLEMS) {
        line("", &one_line(&format!("{}: {}", problem.place, problem.reason)));
    }
    if account.left_out.len() > MAX_SHOWN_PROBLEMS {
        line("", &format!("all of them with: capdeck why {} --json", item.id));
    }
    match &item.health {
        HealthStatus::Ok { at } => line("answered", &time(*at)),
        HealthStatus::Failing { since, last_at, times, reason } => {
            let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
            line("failing", &format!("since {}, {times}, last {}", time(*since), time(*last_at)));
            line("last failure", &one_line(reason));
            line("", &format!("try it now with: capdeck check {}", item.id));
        }
        HealthStatus::Unchecked => {
            line("health", &format!("not asked yet; ask with: capdeck check {}", item.id));
        }
        HealthStatus::Starting | HealthStatus::Hidden { .. } | HealthStatus::Disabled => {}
    }
    text
}

fn layer_name(layer: SourceLayer) -> &'static str {
    match layer {
        SourceLayer::BuiltIn => "the host itself",
        SourceLayer::Starter => "built in, used while nothing else is configured",
        SourceLayer::Cmp => "your CMP tool",
        SourceLayer::UserConfig => "your config",
        SourceLayer::UserFile => "your file",
        SourceLayer::ProjectCapabilityFile => "this project's capability file",
        SourceLayer::ProjectConfig => "this project's config",
        SourceLayer::ProjectFile => "this project's file",
        SourceLayer::SetConfig => "the config of a set",
        SourceLayer::SetFile => "a file of a set",
        SourceLayer::Remote => "the host that this one is attached to",
    }
}
