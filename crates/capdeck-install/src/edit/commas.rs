//! Adding to and taking from what is between brackets, separated by commas: all of JSON, the inline values of TOML,
//! the flow style of YAML.

use super::{
    splice::{
        TextChange, indentation, line_start, newline, next_line, part, skip_blanks, starts_line,
    },
    tree::DocumentNode,
};

/// How a format writes between brackets.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommaRules {
    /// What begins a comment that ends with the line.
    pub(super) line_comment: &'static str,
    /// Whether a new item may have lines of its own where none is yet.
    pub(super) may_break: bool,
    pub(super) unit: &'static str,
}

/// How a new item is to be written.
#[derive(Debug, Clone)]
pub(super) enum ItemLayout {
    /// On lines that begin with this.
    Lines(String),
    /// On the line of others; with blanks after commas and colons, or without.
    Inline { spaced: bool },
}

pub(super) fn append(
    text: &str,
    container: &DocumentNode,
    rules: CommaRules,
    render: impl Fn(&ItemLayout) -> String,
) -> Option<Vec<TextChange>> {
    let (open, close) = (container.span.start + 1, container.span.end.checked_sub(1)?);
    let newline = newline(text);
    let outer = indentation(text, container.span.start);
    let inside = part(text, open..close);
    let deeper = || format!("{outer}{}", rules.unit);
    let Some(last) = container.entries().last() else {
        let kept = open + inside.trim_end().len();
        let is_laid_out = text.trim().contains('\n') || is_bare_root(text, container);
        if inside.contains('\n') || rules.may_break && is_laid_out {
            let indent = deeper();
            let item = render(&ItemLayout::Lines(indent.clone()));
            let text = format!("{newline}{indent}{item}{newline}{outer}");
            return Some(vec![TextChange { range: kept..close, text }]);
        }
        let is_json = rules.line_comment == "//";
        let item = render(&ItemLayout::Inline { spaced: !is_json });
        let is_map = part(text, container.span.start..open) == "{";
        let pad = if is_map && !is_json { " " } else { "" };
        return Some(vec![TextChange { range: kept..close, text: format!("{pad}{item}{pad}") }]);
    };
    let has_comma = last.comma.is_some();
    let anchor = last.comma.map_or(last.value.span.end, |comma| comma + 1);
    if !inside.contains('\n') {
        let before_value = part(text, last.start..last.value.span.start);
        let spaced = match container.entries() {
            _ if before_value.is_empty() => {
                !part(text, open..close).contains(",") || inside.contains(", ")
            }
            _ => before_value.ends_with(' '),
        };
        let gap = if spaced { " " } else { "" };
        let item = render(&ItemLayout::Inline { spaced });
        let text = if has_comma { format!("{gap}{item},") } else { format!(",{gap}{item}") };
        return Some(vec![TextChange::insert(anchor, text)]);
    }
    let indent = if starts_line(text, last.start) {
        indentation(text, last.start).to_owned()
    } else {
        deeper()
    };
    let item = render(&ItemLayout::Lines(indent.clone()));
    let after = after_comments(text, anchor, close, rules);
    let mut changes = Vec::new();
    if !has_comma {
        changes.push(TextChange::insert(anchor, ","));
    }
    let comma = if has_comma { "," } else { "" };
    changes.push(TextChange::insert(after, format!("{newline}{indent}{item}{comma}")));
    Some(changes)
}

/// Takes an item out. Comments stay, but for those inside it.
pub(super) fn remove(
    text: &str,
    container: &DocumentNode,
    index: usize,
) -> Option<Vec<TextChange>> {
    let (open, close) = (container.span.start + 1, container.span.end.checked_sub(1)?);
    let entries = container.entries();
    let entry = entries.get(index)?;
    let end = entry.comma.map_or(entry.value.span.end, |comma| comma + 1);
    let is_alone = entries.len() == 1;
    if is_alone
        && part(text, open..entry.start).trim().is_empty()
        && part(text, end..close).trim().is_empty()
    {
        return Some(vec![TextChange::delete(open..close)]);
    }
    let mut changes = Vec::new();
    let before = index.checked_sub(1).and_then(|before| entries.get(before));
    if entry.comma.is_none()
        && let Some(comma) = before.and_then(|before| before.comma)
    {
        changes.push(TextChange::delete(comma..comma + 1));
    }
    let rest = skip_blanks(text, end);
    let ends_line = part(text, rest..text.len()).starts_with(['\n', '\r']);
    let range = if starts_line(text, entry.start) && ends_line {
        line_start(text, entry.start)..next_line(text, rest)
    } else if starts_line(text, entry.start) || index + 1 < entries.len() && !ends_line {
        entry.start..rest
    } else {
        let kept = before.map_or(open, |before| before.comma.map_or(open, |comma| comma + 1));
        let blanks = part(text, kept..entry.start);
        let from = entry.start - (blanks.len() - blanks.trim_end_matches([' ', '\t']).len());
        from..end
    };
    changes.push(TextChange::delete(range));
    Some(changes)
}

/// Whether the container is all there is: `{}` in a file of its own says nothing about how the file is laid out.
fn is_bare_root(text: &str, container: &DocumentNode) -> bool {
    text.trim().len() == container.span.len()
}

/// Behind the comments that follow an item on its own line.
fn after_comments(text: &str, from: usize, close: usize, rules: CommaRules) -> usize {
    let mut end = from;
    loop {
        let at = skip_blanks(text, end);
        let rest = part(text, at..close);
        if rest.starts_with(rules.line_comment) {
            let line = rest.split('\n').next().unwrap_or_default();
            return at + line.trim_end_matches('\r').len();
        }
        let block = rest.strip_prefix("/*").filter(|_| rules.line_comment == "//");
        match block.and_then(|inner| inner.find("*/")) {
            Some(length) => end = at + length + 4,
            None => return end,
        }
    }
}
