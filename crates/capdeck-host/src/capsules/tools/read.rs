//! `capsol_read`: one entry, a list, a search, or an overview.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Answer, ToolCaller,
    answer::{member, only},
    invalid, parse,
};
use crate::capsules::{CapsuleFailure, CapsuleOperation, ListQuery, ReadBody, SearchQuery};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    capsule: Option<String>,
    uri: Option<String>,
    version: Option<u64>,
    list: Option<ListQuery>,
    search: Option<SearchQuery>,
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    Banded,
    Meta,
    History,
}

/// What an item of a list tells. The rest is told by a read.
const LISTED: [&str; 8] =
    ["uri", "version", "title", "tags", "risk_class", "written_by", "written_at", "bytes"];

const STALE: &str = "  stale: a file it cites is gone or was changed since\n";

pub(super) async fn call(
    by: &ToolCaller<'_>,
    arguments: Option<&RawValue>,
) -> Result<Answer, CapsuleFailure> {
    let Arguments { capsule, uri, version, list, search, format } = parse(arguments)?;
    let asked = [uri.is_some(), list.is_some(), search.is_some()];
    if asked.into_iter().filter(|is_there| *is_there).count() > 1 {
        return Err(invalid("give one of `uri`, `list` and `search`"));
    }
    if uri.is_none() && (version.is_some() || format.is_some()) {
        return Err(invalid("`version` and `format` go with `uri`"));
    }
    let capsule = capsule.as_deref();
    match (uri, list, search) {
        (Some(uri), ..) => match format.unwrap_or(Format::Banded) {
            Format::History if version.is_some() => {
                Err(invalid("a history has all versions; leave `version` out"))
            }
            Format::History => history(by, capsule, uri).await,
            Format::Banded => entry(by, capsule, uri, version, ReadBody::Banded).await,
            Format::Meta => entry(by, capsule, uri, version, ReadBody::Meta).await,
        },
        (None, Some(query), _) => {
            let page = by.ask(capsule, CapsuleOperation::List(query)).await?;
            Ok(listing(&page))
        }
        (None, None, Some(query)) => {
            let page = by.ask(capsule, CapsuleOperation::Search(query)).await?;
            Ok(found(&page))
        }
        (None, None, None) => {
            let overview = by.ask(capsule, CapsuleOperation::Overview).await?;
            Ok(glance(&overview))
        }
    }
}

async fn entry(
    by: &ToolCaller<'_>,
    capsule: Option<&str>,
    uri: String,
    version: Option<u64>,
    body: ReadBody,
) -> Result<Answer, CapsuleFailure> {
    let mut facts = by.ask(capsule, CapsuleOperation::Read { uri, version, body }).await?;
    let banded = facts.as_object_mut().and_then(|facts| facts.shift_remove("text"));
    let text = match banded {
        Some(Value::String(text)) => text,
        Some(_) | None => provenance(&facts),
    };
    Ok(Answer { text, facts })
}

async fn history(
    by: &ToolCaller<'_>,
    capsule: Option<&str>,
    uri: String,
) -> Result<Answer, CapsuleFailure> {
    let answer = by.ask(capsule, CapsuleOperation::History { uri: uri.clone() }).await?;
    let versions = items(&answer, "versions", &LISTED);
    let mut text = String::new();
    for version in &versions {
        text.push_str(&format!(
            "version {}, {}, by {}, {} bytes\n",
            version["version"],
            member(version, "written_at"),
            member(version, "written_by"),
            version["bytes"],
        ));
    }
    Ok(Answer { text, facts: json!({ "uri": uri, "versions": versions }) })
}

/// What is known about an entry, without a word of it.
fn provenance(facts: &Value) -> String {
    let mut text = entry_line(facts);
    for anchor in facts["anchors"].as_array().into_iter().flatten() {
        text.push_str(&format!("  {} ({})\n", member(anchor, "path"), member(anchor, "state")));
    }
    if facts["stale"] == true {
        text.push_str(STALE);
    }
    text
}

fn listing(page: &Value) -> Answer {
    let entries = items(page, "entries", &LISTED);
    let mut text: String = entries.iter().map(entry_line).collect();
    if entries.is_empty() {
        text.push_str("no entries\n");
    }
    let mut facts = json!({ "entries": entries });
    go_on(page, &mut text, &mut facts);
    Answer { text, facts }
}

fn found(page: &Value) -> Answer {
    let total = page["total"].as_u64().unwrap_or_default();
    let mut text = match total {
        0 => "nothing found; try fewer or other words, or `begin*`\n".to_owned(),
        _ => format!(
            "{total} found. Snippets are parts of what others wrote; read an entry before you use it.\n"
        ),
    };
    let mut hits = Vec::new();
    for hit in page["hits"].as_array().into_iter().flatten() {
        text.push_str(&entry_line(hit));
        text.push_str(&format!("  {}\n", member(hit, "snippet")));
        if hit["stale"] == true {
            text.push_str(STALE);
        }
        let mut facts = only(hit, &LISTED);
        facts["snippet"] = json!(member(hit, "snippet"));
        (facts["score"], facts["stale"]) = (hit["score"].clone(), hit["stale"].clone());
        hits.push(facts);
    }
    let mut facts = json!({ "hits": hits, "total": total });
    go_on(page, &mut text, &mut facts);
    Answer { text, facts }
}

fn glance(overview: &Value) -> Answer {
    let recent = items(overview, "recent", &LISTED);
    let schemes = items(overview, "schemes", &["scheme", "entries"]);
    let mut text = String::new();
    for scheme in &schemes {
        text.push_str(&format!("{}:// {} entries\n", member(scheme, "scheme"), scheme["entries"]));
    }
    if !recent.is_empty() {
        text.push_str("latest:\n");
        text.extend(recent.iter().map(entry_line));
    }
    let mut facts = only(overview, &["capsule", "name", "description", "role"]);
    (facts["schemes"], facts["recent"]) = (json!(schemes), json!(recent));
    Answer { text, facts }
}

fn entry_line(entry: &Value) -> String {
    let title = match member(entry, "title") {
        title if title.is_empty() => title,
        title => format!(" {title:?}"),
    };
    format!(
        "{} v{}{title}, {}, by {} at {}\n",
        member(entry, "uri"),
        entry["version"],
        member(entry, "risk_class"),
        member(entry, "written_by"),
        member(entry, "written_at"),
    )
}

fn items(page: &Value, key: &str, members: &[&str]) -> Vec<Value> {
    page[key].as_array().into_iter().flatten().map(|item| only(item, members)).collect()
}

fn go_on(page: &Value, text: &mut String, facts: &mut Value) {
    if let Some(cursor) = page["next_cursor"].as_str() {
        text.push_str(&format!("more with cursor `{cursor}`\n"));
        facts["next_cursor"] = json!(cursor);
    }
}
