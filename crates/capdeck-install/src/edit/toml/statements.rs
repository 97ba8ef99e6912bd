//! The lines of a TOML text: headers and pairs, each with the path of what it says.
//!
//! The text was read by a parser before, so this only looks for where things end.

use std::{collections::HashMap, ops::Range};

use toml_edit::Key;

use crate::edit::{
    Step,
    splice::{line_end, part, skip_blanks},
};

/// One header or pair.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) kind: Kind,
    /// What it defines, from the root, with the positions in arrays of tables.
    pub(super) path: Vec<Step>,
    /// The section it belongs to; its own path for a header.
    pub(super) section: Vec<Step>,
    /// Without indentation and comment.
    pub(super) span: Range<usize>,
}

/// What kind of line it is.
#[derive(Debug)]
pub(super) enum Kind {
    Header,
    Pair { value: Range<usize> },
}

impl Statement {
    pub(super) fn is_header(&self) -> bool {
        matches!(self.kind, Kind::Header)
    }

    /// Whether `path` leads into, or to, the value of this pair.
    pub(super) fn holds(&self, path: &[Step]) -> bool {
        !self.is_header() && path.starts_with(&self.path)
    }
}

/// All statements in order.
pub(super) fn statements(text: &str) -> Option<Vec<Statement>> {
    let mut found = Vec::new();
    let mut counts: HashMap<Vec<Step>, usize> = HashMap::new();
    let mut section: Vec<Step> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = part(text, at..text.len());
        let start = at + rest.len() - rest.trim_start().len();
        let rest = part(text, start..text.len());
        if rest.is_empty() {
            break;
        }
        if rest.starts_with('#') {
            at = line_end(text, start);
            continue;
        }
        let statement = if rest.starts_with("[[") {
            let end = key_end(text, start + 2, ']');
            let names = key_names(part(text, start + 2..end))?;
            let mut path = resolve(&[], &names, &counts, Last::Bare)?;
            let count = counts.entry(path.clone()).or_default();
            path.push(Step::Index(*count));
            *count += 1;
            section.clone_from(&path);
            Statement { kind: Kind::Header, section: path.clone(), path, span: start..end + 2 }
        } else if rest.starts_with('[') {
            let end = key_end(text, start + 1, ']');
            let path = resolve(&[], &key_names(part(text, start + 1..end))?, &counts, Last::Item)?;
            section.clone_from(&path);
            Statement { kind: Kind::Header, section: path.clone(), path, span: start..end + 1 }
        } else {
            let equals = key_end(text, start, '=');
            let mut path = section.clone();
            path.extend(key_names(part(text, start..equals))?.into_iter().map(Step::Key));
            let value = skip_blanks(text, equals + 1);
            let value = value..value_end(text, value);
            let span = start..value.end;
            Statement { kind: Kind::Pair { value }, path, section: section.clone(), span }
        };
        at = statement.span.end;
        found.push(statement);
    }
    Some(found)
}

/// Whether the last name of a header means the array or its newest item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Bare,
    Item,
}

/// A header's names as a path: a name of an array of tables means its newest item.
fn resolve(
    from: &[Step],
    names: &[String],
    counts: &HashMap<Vec<Step>, usize>,
    last: Last,
) -> Option<Vec<Step>> {
    let mut path = from.to_vec();
    for (index, name) in names.iter().enumerate() {
        path.push(Step::Key(name.clone()));
        let is_inner = index + 1 < names.len() || last == Last::Item;
        if let Some(count) = counts.get(&path).filter(|_| is_inner) {
            path.push(Step::Index(count.checked_sub(1)?));
        }
    }
    Some(path)
}

fn key_names(text: &str) -> Option<Vec<String>> {
    let keys = Key::parse(text.trim()).ok()?;
    Some(keys.iter().map(|key| key.get().to_owned()).collect())
}

/// Where a key ends: at `stop`, outside of quotes.
fn key_end(text: &str, from: usize, stop: char) -> usize {
    let mut at = from;
    while let Some(character) = part(text, at..text.len()).chars().next() {
        match character {
            '"' | '\'' => at = string_end(text, at),
            found if found == stop => return at,
            other => at += other.len_utf8(),
        }
    }
    at
}

/// Where a value ends: with its line, but for what brackets and quotes hold together.
fn value_end(text: &str, from: usize) -> usize {
    let mut at = from;
    let mut depth = 0_usize;
    // Blanks before a comment are no part of the value.
    let mut end = from;
    while let Some(character) = part(text, at..text.len()).chars().next() {
        match character {
            '"' | '\'' => at = string_end(text, at),
            '#' if depth == 0 => return end,
            '#' => {
                at = line_end(text, at);
                continue;
            }
            '\n' | '\r' if depth == 0 => return end,
            _ => {
                depth = match character {
                    '[' | '{' => depth + 1,
                    ']' | '}' => depth.saturating_sub(1),
                    _ => depth,
                };
                at += character.len_utf8();
            }
        }
        if !character.is_whitespace() {
            end = at;
        }
    }
    end
}

/// Behind the closing quotes of the string that begins here.
fn string_end(text: &str, from: usize) -> usize {
    let rest = part(text, from..text.len());
    let quote = rest.chars().next().unwrap_or('"');
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let is_long = rest.starts_with(&triple);
    let opening = if is_long { 3 } else { 1 };
    let mut at = opening;
    while let Some(character) = part(rest, at..rest.len()).chars().next() {
        if character == '\\' && quote == '"' {
            at += 1;
            at += part(rest, at..rest.len()).chars().next().map_or(0, char::len_utf8);
            continue;
        }
        if !is_long && character == quote {
            return from + at + 1;
        }
        if is_long && part(rest, at..rest.len()).starts_with(&triple) {
            // Up to two quotes may stand directly before the closing ones.
            let quotes = part(rest, at..rest.len()).chars().take_while(|c| *c == quote).count();
            return from + at + quotes.min(5);
        }
        at += character.len_utf8();
    }
    text.len()
}
