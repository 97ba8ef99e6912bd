//! `capsol_read`: one entry, a list, a search, or an overview.

use capdeck_capsule::{RiskClass, SchemeCount, one_line};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use super::{ToolAnswer, ToolRun, invalid, parse};
use crate::{
    Role,
    capsules::{
        CapsuleError, EntryInfo, EntryMatch, HistoryRequest, ListQuery, ListResponse,
        OverviewRequest, OverviewResponse, ReadBody, ReadRequest, ReadResponse, SearchQuery,
        SearchResponse,
    },
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
#[derive(Serialize)]
struct ListedEntry<'a> {
    uri: &'a str,
    version: u64,
    title: &'a str,
    tags: &'a [String],
    risk_class: RiskClass,
    written_by: &'a str,
    written_at: Timestamp,
    bytes: u64,
}

#[derive(Serialize)]
struct EntryListing<'a> {
    entries: Vec<ListedEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
}

#[derive(Serialize)]
struct ListedMatch<'a> {
    #[serde(flatten)]
    entry: ListedEntry<'a>,
    snippet: String,
    score: f64,
    stale: bool,
}

#[derive(Serialize)]
struct MatchListing<'a> {
    hits: Vec<ListedMatch<'a>>,
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
}

#[derive(Serialize)]
struct CapsuleOverview<'a> {
    capsule: &'a str,
    name: &'a str,
    description: &'a str,
    role: Role,
    schemes: &'a [SchemeCount],
    recent: Vec<ListedEntry<'a>>,
}

impl<'a> From<&'a EntryInfo> for ListedEntry<'a> {
    fn from(info: &'a EntryInfo) -> Self {
        Self {
            uri: info.uri.as_str(),
            version: info.version,
            title: &info.title,
            tags: &info.tags,
            risk_class: info.risk_class,
            written_by: &info.written_by,
            written_at: info.written_at,
            bytes: info.bytes,
        }
    }
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
    let versions: Vec<ListedEntry<'_>> = response.versions.iter().map(ListedEntry::from).collect();
    Ok(ToolAnswer::new(text, &json!({ "uri": uri, "versions": versions })))
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
    let next_cursor = page.next_cursor.as_deref();
    text.push_str(&more(next_cursor));
    let entries = page.entries.iter().map(ListedEntry::from).collect();
    ToolAnswer::new(text, &EntryListing { entries, next_cursor })
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
        hits.push(ListedMatch { entry: info.into(), snippet, score: *score, stale: *stale });
    }
    let next_cursor = page.next_cursor.as_deref();
    text.push_str(&more(next_cursor));
    ToolAnswer::new(text, &MatchListing { hits, total: page.total, next_cursor })
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
    let recent = recent.iter().map(ListedEntry::from).collect();
    let facts = CapsuleOverview { capsule, name, description, role: *role, schemes, recent };
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

fn more(cursor: Option<&str>) -> String {
    cursor.map(|cursor| format!("more with cursor `{cursor}`\n")).unwrap_or_default()
}
