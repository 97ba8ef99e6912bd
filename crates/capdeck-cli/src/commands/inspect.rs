//! `capdeck inspect ID`: the details of one capability.

use capdeck_catalog::Capability;
use capdeck_definition::reveal;
use capdeck_host::{
    HealthStatus, ListItem, capabilities_of_file, card, inspection, known_capability,
    tools_with_hidden_text,
};
use serde_json::{Value, json};

use crate::{
    completion::ids,
    context::CommandContext,
    errors::CommandResult,
    plain_text::{counted, lines, one_line, written},
    printer::{ColorPalette, TextStyle},
};

/// Show details of a capability
///
/// Nothing is connected. The id of a file that declares several capabilities shows them all.
#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
}

pub(crate) fn run(args: &InspectArgs, context: &CommandContext<'_>) -> CommandResult {
    let host = context.open_host()?;
    let printer = context.printer;
    let children = capabilities_of_file(&host.catalog(), &args.id);
    let text = |one: &Capability| to_text(one, host.health(one), printer.palette());
    if !children.is_empty() {
        let items: Vec<Value> = children.iter().map(|child| inspection(&host, child)).collect();
        let texts: Vec<String> = children.iter().map(|child| text(child)).collect();
        return printer.show(&json!({ "id": args.id, "items": items }), &texts.join("\n"));
    }
    let capability = known_capability(&host, &args.id)?;
    printer.show(&inspection(&host, &capability), &text(&capability))
}

fn to_text(capability: &Capability, health: HealthStatus, palette: ColorPalette) -> String {
    let definition = &capability.definition;
    let item = ListItem::of(capability, health);
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
    if let Some(hint) = &definition.hints.use_when {
        fact("use when", &one_line(hint));
    }
    if let Some(hint) = &definition.hints.avoid_when {
        fact("avoid when", &one_line(hint));
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
            if !known.problems.is_empty() {
                let (count, id) = (known.problems.len(), &definition.id);
                fact("problems", &format!("{count} of its description; see: capdeck why {id}"));
            }
            fact("tokens", &format!("{} at most, when listed directly", item.tokens.unwrap_or(0)));
            let hidden = tools_with_hidden_text(capability);
            if !hidden.is_empty() {
                let names: Vec<String> =
                    hidden.iter().map(|name| one_line(&reveal(name))).collect();
                let id = &definition.id;
                fact(
                    "hidden text",
                    &format!("in {}; see: capdeck pins diff {id}", names.join(", ")),
                );
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
    let details: Vec<String> = facts
        .iter()
        .filter(|(name, value)| !["type", "disabled"].contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name} {text}"),
            other => format!("{name} {other}"),
        })
        .collect();
    if details.is_empty() { kind.to_owned() } else { format!("{kind} ({})", details.join(", ")) }
}
