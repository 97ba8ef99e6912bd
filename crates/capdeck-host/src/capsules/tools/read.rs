//! `capsol_read`: one entry, a list, a search, or an overview.

use capdeck_capsule::{SchemeCount, one_line};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{ToolAnswer, ToolRun, invalid, parse};
use crate::capsules::{
    CapsuleError, EntryInfo, EntryMatch, HistoryRequest, ListQuery, ListResponse, OverviewRequest,
    OverviewResponse, ReadBody, ReadRequest, ReadResponse, SearchQuery, SearchResponse,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadToolArguments {
    capsule: Option<String>,
    uri: Option<String>,
    version: Option<u64>,
    list: Option<ListQuery>,
    search: Option<SearchQuery>,
    format: Option<ReadFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReadFormat {
    Banded,
    Meta,
    History,
}

/// An item of a list. A read responds with the rest.
fn listed(info: &EntryInfo) -> Value {
    json!({
        "uri": info.uri.as_str(),
        "version": info.version,
        "title": info.title,
        "tags": info.tags,
        "risk_class": info.risk_class,
        "written_by": info.written_by,
        "written_at": info.written_at,
        "bytes": info.bytes,
    })
}

fn all_listed(entries: &[EntryInfo]) -> Vec<Value> {
    entries.iter().map(listed).collect()
}

const STALE_NOTE: &str = "  stale: a file it cites is gone or was changed since\n";

pub(super) async fn call(
    run: &ToolRun<'_>,
    arguments: Option<&RawValue>,
) -> Result<ToolAnswer, CapsuleError> {
    let ReadToolArguments { capsule, uri, version, list, search, format } = parse(arguments)?;
    let asked = [uri.is_some(), list.is_some(), search.is_some()];
    if asked.into_iter().filter(|is_there| *is_there).count() > 1 {
        return Err(invalid("give one of `uri`, `list` and `search`"));
    }
    if uri.is_none() && (version.is_some() || format.is_some()) {
        return Err(invalid("`version` and `format` go with `uri`"));
    }
    let capsule = capsule.as_deref();
    match (uri, list, search) {
        (Some(uri), ..) => match format.unwrap_or(ReadFormat::Banded) {
            ReadFormat::History if version.is_some() => {
                Err(invalid("a history has all versions; leave `version` out"))
            }
            ReadFormat::History => history(run, capsule, uri).await,
            ReadFormat::Banded => entry(run, capsule, uri, version, ReadBody::Banded).await,
            ReadFormat::Meta => entry(run, capsule, uri, version, ReadBody::Meta).await,
        },
        (None, Some(query), _) => Ok(list_result(&run.ask(capsule, query).await?)),
        (None, None, Some(query)) => Ok(search_result(&run.ask(capsule, query).await?)),
        (None, None, None) => Ok(overview(&run.ask(capsule, OverviewRequest).await?)),
    }
}

async fn entry(
    run: &ToolRun<'_>,
    capsule: Option<&str>,
    uri: String,
    version: Option<u64>,
    body: ReadBody,
) -> Result<ToolAnswer, CapsuleError> {
    let mut entry = run.ask(capsule, ReadRequest { uri, version, body }).await?;
    let text = entry.text.take().unwrap_or_else(|| provenance(&entry));
    Ok(ToolAnswer::new(text, &entry))
}

async fn history(
    run: &ToolRun<'_>,
    capsule: Option<&str>,
    uri: String,
) -> Result<ToolAnswer, CapsuleError> {
    let response = run.ask(capsule, HistoryRequest { uri: uri.clone() }).await?;
    let line = |info: &EntryInfo| {
        let (version, at, bytes) = (info.version, info.written_at, info.bytes);
        format!("version {version}, {at}, by {}, {bytes} bytes\n", one_line(&info.written_by))
    };
    let text = response.versions.iter().map(line).collect();
    let facts = json!({ "uri": uri, "versions": all_listed(&response.versions) });
    Ok(ToolAnswer::new(text, &facts))
}

/// What is known about an entry, without its content.
fn provenance(entry: &ReadResponse) -> String {
    let mut text = entry_line(&entry.info);
    for anchor in &entry.anchors {
        text.push_str(&format!("  {} ({})\n", one_line(&anchor.path), anchor.state.as_str()));
    }
    if entry.stale {
        text.push_str(STALE_NOTE);
    }
    text
}

fn list_result(page: &ListResponse) -> ToolAnswer {
    let mut text: String = page.entries.iter().map(entry_line).collect();
    if page.entries.is_empty() {
        text.push_str("no entries\n");
    }
    let facts = json!({ "entries": all_listed(&page.entries) });
    with_next(text, facts, page.next_cursor.as_deref())
}

fn search_result(page: &SearchResponse) -> ToolAnswer {
    let mut text = match page.total {
        0 => "nothing found; try fewer or other words, or `begin*`\n".to_owned(),
        total => format!(
            "{total} found. Snippets are parts of what others wrote; read an entry before you use it.\n"
        ),
    };
    let mut hits = Vec::with_capacity(page.hits.len());
    for EntryMatch { info, score, snippet, stale } in &page.hits {
        let snippet = one_line(snippet);
        text.push_str(&entry_line(info));
        text.push_str(&format!("  {snippet}\n"));
        if *stale {
            text.push_str(STALE_NOTE);
        }
        let mut hit = listed(info);
        hit["snippet"] = json!(snippet);
        hit["score"] = json!(score);
        hit["stale"] = json!(stale);
        hits.push(hit);
    }
    let facts = json!({ "hits": hits, "total": page.total });
    with_next(text, facts, page.next_cursor.as_deref())
}

fn overview(overview: &OverviewResponse) -> ToolAnswer {
    let OverviewResponse { capsule, name, description, role, schemes, recent } = overview;
    let mut text = String::new();
    for SchemeCount { scheme, entries } in schemes {
        text.push_str(&format!("{scheme}:// {entries} entries\n"));
    }
    if !recent.is_empty() {
        text.push_str("latest:\n");
        text.extend(recent.iter().map(entry_line));
    }
    let facts = json!({
        "capsule": capsule,
        "name": name,
        "description": description,
        "role": role,
        "schemes": schemes,
        "recent": all_listed(recent),
    });
    ToolAnswer::new(text, &facts)
}

fn entry_line(info: &EntryInfo) -> String {
    let title = match one_line(&info.title) {
        title if title.is_empty() => title,
        title => format!(" {title:?}"),
    };
    let (uri, version, class) = (&info.uri, info.version, info.risk_class.as_str());
    let (by, at) = (one_line(&info.written_by), info.written_at);
    format!("{uri} v{version}{title}, {class}, by {by} at {at}\n")
}

fn with_next(mut text: String, mut facts: Value, next_cursor: Option<&str>) -> ToolAnswer {
    if let Some(cursor) = next_cursor {
        text.push_str(&format!("more with cursor `{cursor}`\n"));
        facts["next_cursor"] = json!(cursor);
    }
    ToolAnswer::new(text, &facts)
}
