//! YAML text to a [`ValueNode`] tree, with budgets against hostile documents.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{
    Error, Location, MessageFormatter, Spanned, UserMessageFormatter, budget::BudgetBreach,
};

use super::{MAX_DEPTH, MAX_NODES, MapEntries, MapEntry, NodeValue, ValueNode, too_many_nodes};
use crate::diagnostic::{Diagnostic, TextPosition};

pub(crate) fn parse(text: &str) -> Result<ValueNode, Diagnostic> {
    let work = || parse_here(text);
    if nesting_bound(text) > MAX_PLAIN_NESTING { on_large_stack(work) } else { work() }
}

/// As [`parse`], on this thread.
fn parse_here(text: &str) -> Result<ValueNode, Diagnostic> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            // Looser than the depth, so that too much nesting is reported as that and not as bad syntax.
            flow_nesting_limit: MAX_DEPTH * 2,
            // Every mapping and list has two events and is one node.
            max_events: MAX_NODES * 2,
            max_nodes: MAX_NODES,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_recorded_anchor_events: 100_000,
            max_total_scalar_bytes: 4 << 20,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 16,
        },
        // `on` and `off` are ordinary words in YAML 1.2, and real files use them so.
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| syntax_error(&error, text))
}

/// Levels for which any thread has enough stack.
const MAX_PLAIN_NESTING: usize = 24;
/// Enough for [`MAX_DEPTH`] levels, of which the parser takes tens of kilobytes each without optimisation.
const STACK_BYTES: usize = 16 << 20;

/// The text is nested no deeper than this: a block by what its lines start with, a flow by the brackets that open. The
/// depth of an alias is unknown.
fn nesting_bound(text: &str) -> usize {
    if text.contains('*') {
        return usize::MAX;
    }
    let is_start = |byte: &u8| matches!(byte, b' ' | b'\t' | b'-' | b'?' | b':');
    let start = |line: &str| line.bytes().take_while(is_start).count() + 1;
    let blocks = text.split(['\n', '\r']).map(start).max().unwrap_or_default();
    blocks + text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count()
}

/// Runs work on a thread of its own: files are read on threads with little stack.
fn on_large_stack(
    work: impl FnOnce() -> Result<ValueNode, Diagnostic> + Send,
) -> Result<ValueNode, Diagnostic> {
    let failed = || {
        let message = "the file could not be parsed: no thread could be started";
        Diagnostic::error("unreadable", message, "try again when the machine has more memory")
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work).map_err(|_| failed())?;
        thread.join().map_err(|_| failed())?
    })
}

impl<'de> Deserialize<'de> for ValueNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Spanned::<NodeValue>::deserialize(deserializer)?;
        Ok(Self { content: read.value, place: place_of(read.referenced) })
    }
}

impl<'de> Deserialize<'de> for NodeValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = NodeValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_none<E>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<NodeValue, E> {
        Ok(NodeValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<NodeValue, E> {
        Ok(NodeValue::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<NodeValue, E> {
        Ok(NodeValue::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<NodeValue, E> {
        Ok(NodeValue::from_f64(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<NodeValue, E> {
        Ok(NodeValue::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<NodeValue, E> {
        Ok(NodeValue::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<NodeValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(NodeValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<NodeValue, A::Error> {
        let mut entries = MapEntries::default();
        while let Some((key, value)) = access.next_entry::<Spanned<String>, ValueNode>()? {
            let place = place_of(key.referenced);
            entries.insert(key.value, MapEntry { place, value });
        }
        Ok(NodeValue::Map(entries))
    }
}

fn place_of(location: Location) -> TextPosition {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    match number(location.line()) {
        0 => TextPosition::default(),
        line => TextPosition { line, column: number(location.column()) },
    }
}

/// The line that an error is about begins with a tab, which YAML does not take as indentation.
fn is_indented_by_tab(text: &str, place: TextPosition) -> bool {
    let line = usize::try_from(place.line).ok().and_then(|line| line.checked_sub(1));
    let line = line.and_then(|line| text.lines().nth(line)).unwrap_or_default();
    let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..indentation).is_some_and(|start| start.contains('\t'))
}

fn syntax_error(error: &Error, text: &str) -> Diagnostic {
    let place = error.location().map(place_of).unwrap_or_default();
    let mut cause = error.without_snippet();
    while let Error::AliasError { error, .. } = cause {
        cause = error.without_snippet();
    }
    let message = UserMessageFormatter.format_message(cause).into_owned();
    let detail = message.lines().next().unwrap_or_default().trim_end_matches('.');
    let diagnostic = match cause {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("?");
            let message = format!("a key is written twice: `{key}`");
            Diagnostic::error("duplicate-key", message, "keep one of the two")
        }
        Error::Budget {
            breach: BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. }, ..
        } => too_many_nodes(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => Diagnostic::error(
            "document-too-complex",
            "the YAML is nested or repeated beyond what is read",
            "use fewer aliases and less nesting",
        ),
        _ if is_indented_by_tab(text, place) => Diagnostic::error(
            "invalid-yaml",
            "the YAML cannot be read: this line is indented with a tab",
            "indent it with spaces",
        ),
        _ => Diagnostic::error(
            "invalid-yaml",
            format!("the YAML cannot be read: {detail}"),
            "check indentation, quotes and colons on and above this line",
        ),
    };
    diagnostic.at(place)
}
