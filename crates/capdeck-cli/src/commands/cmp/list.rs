//! `capdeck cmp list [DOMAIN]`: the installed tools.

use capdeck_definition::Layer;
use serde_json::{Value, json};

use super::installed;
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    table::{Cell, Table},
    tokens::Tokens,
};

/// Show the installed CMP tools
///
/// Reads files only; nothing is run.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only the tools of this domain.
    #[arg(value_name = "DOMAIN")]
    domain: Option<String>,
}

pub(super) fn run(args: &ListArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ListArgs { domain } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let catalog = host.catalog();
    let tokens = Tokens::new();
    let wanted =
        |name: &str| domain.as_ref().is_none_or(|domain| domain.eq_ignore_ascii_case(name));
    let mut table = Table::new(["ID", "DOMAIN", "VERSION", "INTENTS", "SUMMARY"]);
    let mut items: Vec<Value> = Vec::new();
    for (capability, tool) in installed(&catalog).filter(|(_, tool)| wanted(&tool.domain)) {
        let definition = &capability.definition;
        let intents: Vec<Value> = tool
            .intents
            .iter()
            .map(|(name, intent)| json!({ "name": name, "patterns": intent.patterns }))
            .collect();
        items.push(json!({
            "id": definition.id,
            "domain": tool.domain,
            "name": definition.name,
            "summary": definition.description,
            "version": tool.version,
            "tags": definition.tags,
            "requires": tool.requires,
            "intents": intents,
            "tokens": tokens.count(&tool.manifest),
            "source": definition.source,
        }));
        table.row([
            Cell::plain(definition.id.as_str()),
            Cell::plain(&tool.domain),
            Cell::plain(&tool.version),
            Cell::plain(tool.intents.len().to_string()),
            Cell::plain(&definition.description),
        ]);
    }
    if printer.wants_json() {
        printer.json(&json!({ "items": items }));
    } else if items.is_empty() {
        printer.note(&match domain {
            Some(domain) => {
                format!("no CMP tool of the domain `{}` is installed", one_line(domain))
            }
            None => "no CMP tool is installed; put one into ~/.cmp/tools".to_owned(),
        });
    } else {
        table.print(printer);
    }
    for entry in catalog.quarantined().iter().filter(|entry| entry.source.layer == Layer::Cmp) {
        printer.warn(&format!("`{}` does not load: {}", entry.id, one_line(&entry.reason)));
        let folder = entry.source.path.parent().and_then(|folder| folder.parent());
        if let Some(folder) = folder {
            printer.note(&format!(
                "see what to correct with: capdeck cmp validate {}",
                folder.display()
            ));
        }
    }
    Ok(ExitStatus::Done)
}
