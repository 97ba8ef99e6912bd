//! What `up` tells the person: the address, what is served, and what to paste into a client.

use capdeck_catalog::Catalog;
use capdeck_definition::SourceLayer;
use capdeck_host::{Host, ItemStatus, ListItem, list_items};
use serde_json::json;

use crate::{
    printer::{ColorPalette, TextStyle},
    table::{TextTable, cell, cell_or},
};

/// More capabilities than this are counted, not shown.
const MAX_SHOWN_CAPABILITIES: usize = 20;

pub(super) fn render(url: &str, host: &Host, has_key: bool, palette: ColorPalette) -> String {
    let catalog = &host.catalog();
    let items = list_items(host, catalog);
    let (usable, others): (Vec<ListItem>, Vec<ListItem>) = items
        .into_iter()
        .partition(|item| matches!(item.status, ItemStatus::Ready | ItemStatus::Stale));
    let mut text = format!("Capdeck serves {}\n\n", palette.paint(TextStyle::Strong, url));
    text.push_str(&capabilities(&usable, catalog, palette));
    let is_ours = |layer| matches!(layer, SourceLayer::Starter | SourceLayer::BuiltIn);
    let starter = usable.iter().any(|item| item.source.layer == SourceLayer::Starter);
    if starter && usable.iter().all(|item| is_ours(item.source.layer)) {
        text.push_str("\nThis is the starter deck. Begin your own with: capdeck init\n");
    }
    if let Some(note) = left_out(&others) {
        text.push_str(&format!("\n{}\n", palette.paint(TextStyle::Careful, &note)));
    }
    text.push_str(&format!("\nDashboard: {url}/\n"));
    text.push_str(&format!("\nPaste this into an MCP client:\n\n{}\n", client_entry(url)));
    if has_key {
        text.push_str(&signing_in(url));
    }
    text.push_str("\nStop with Ctrl-C.");
    text
}

fn capabilities(usable: &[ListItem], catalog: &Catalog, palette: ColorPalette) -> String {
    let shown = usable.iter().take(MAX_SHOWN_CAPABILITIES);
    let table = TextTable::new(["CAPABILITY", "TOOLS", "NAME"], shown, |item| {
        let known = catalog.get(&item.id).and_then(|capability| capability.discovery.as_ref());
        let tools = known.map(|known| known.tools.len());
        [cell(&item.id), cell_or("?", tools), cell(&item.name)]
    });
    let more = usable.len().saturating_sub(MAX_SHOWN_CAPABILITIES);
    let rest =
        if more > 0 { format!("and {more} more; see: capdeck list\n") } else { String::new() };
    table.render(palette, None).lines().map(|line| format!("  {line}\n")).collect::<String>()
        + &rest
}

fn left_out(others: &[ListItem]) -> Option<String> {
    let count = |status: ItemStatus| others.iter().filter(|item| item.status == status).count();
    let parts: Vec<String> = [
        (ItemStatus::Quarantined, "broken (capdeck validate)"),
        (ItemStatus::Untrusted, "untrusted (capdeck trust)"),
        (ItemStatus::Hidden, "hidden (capdeck list)"),
    ]
    .into_iter()
    .filter(|(status, _)| count(*status) > 0)
    .map(|(status, what)| format!("{} {what}", count(status)))
    .collect();
    (!parts.is_empty()).then(|| format!("Not served: {}", parts.join(", ")))
}

/// The `mcpServers` block that most clients take. There is no key in it: clients sign in by themselves.
fn client_entry(url: &str) -> String {
    let server = json!({ "type": "http", "url": format!("{url}/mcp") });
    let block = json!({ "mcpServers": { "capdeck": server } });
    let text = serde_json::to_string_pretty(&block).unwrap_or_default();
    text.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

/// What people and agents do first where everyone has to sign in.
fn signing_in(url: &str) -> String {
    format!(
        "\nThe client opens a page in the browser, where you choose what it can use.\n\
         An agent without a browser enrolls: POST {url}/v1/agent-enrollments\n\
         The admin key is for people, to sign in to the dashboard. Do not give it to agents.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_is_given_a_key() {
        let entry = client_entry("http://127.0.0.1:7717");
        assert!(!entry.contains("Authorization") && !entry.contains("Bearer"), "{entry}");
    }
}
