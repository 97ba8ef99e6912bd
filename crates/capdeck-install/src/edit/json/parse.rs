//! JSON text, with comments and trailing commas, to a tree.

use serde_json::Value;

use crate::edit::{
    layout::part,
    tree::{Content, Entry, Node, Style},
};

/// Nesting beyond this is refused, as recursion must end.
const MAX_DEPTH: usize = 128;

/// What is wrong, and where.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) at: usize,
    pub(super) message: String,
}

/// The one value of the text, or none when there is nothing but blanks and comments.
pub(super) fn parse(text: &str) -> Result<Option<Node>, ParseError> {
    let mut parser = Parser { text, at: 0 };
    parser.skip()?;
    if parser.peek().is_none() {
        return Ok(None);
    }
    let root = parser.value(0)?;
    parser.skip()?;
    match parser.peek() {
        None => Ok(Some(root)),
        Some(found) => Err(parser.expected("the end of the file", found)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        part(self.text, self.at..self.text.len())
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Over blanks and comments.
    fn skip(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            let blanks = rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if let Some(inner) = trimmed.strip_prefix("/*") {
                let Some(length) = inner.find("*/") else {
                    self.at += blanks;
                    return Err(self.wrong("this comment has no end"));
                };
                length + 4
            } else {
                0
            };
            self.at += blanks + comment;
            if comment == 0 {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, ParseError> {
        if depth > MAX_DEPTH {
            return Err(self.wrong(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        let start = self.at;
        let content = match self.peek() {
            Some('{') => Content::Map(self.children('}', depth)?),
            Some('[') => Content::List(self.children(']', depth)?),
            Some('"') => Content::Scalar(Value::String(self.string()?)),
            Some(_) => Content::Scalar(self.word()?),
            None => return Err(self.wrong("the file ends where a value is expected")),
        };
        Ok(Node { span: start..self.at, content, style: Style::Enclosed })
    }

    fn children(&mut self, close: char, depth: usize) -> Result<Vec<Entry>, ParseError> {
        let open = self.at;
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            self.skip()?;
            match self.peek() {
                None => {
                    self.at = open;
                    return Err(self.wrong(format!("this bracket is never closed with `{close}`")));
                }
                Some(found) if found == close => {
                    self.at += 1;
                    return Ok(entries);
                }
                Some(found) if entries.last().is_some_and(|last| last.comma.is_none()) => {
                    return Err(self.expected(&format!("`,` or `{close}`"), found));
                }
                Some(_) => {}
            }
            let start = self.at;
            let key = if close == '}' { self.key()? } else { String::new() };
            let head = self.at;
            let value = self.value(depth + 1)?;
            self.skip()?;
            let comma = (self.peek() == Some(',')).then_some(self.at);
            self.at += usize::from(comma.is_some());
            entries.push(Entry { key, start, head, value, comma });
        }
    }

    fn key(&mut self) -> Result<String, ParseError> {
        match self.peek() {
            Some('"') => {}
            Some(found) => return Err(self.expected("a key in double quotes", found)),
            None => return Err(self.wrong("the file ends where a key is expected")),
        }
        let key = self.string()?;
        self.skip()?;
        match self.peek() {
            Some(':') => self.at += 1,
            Some(found) => return Err(self.expected("`:`", found)),
            None => return Err(self.wrong("the file ends where `:` is expected")),
        }
        self.skip()?;
        Ok(key)
    }

    fn string(&mut self) -> Result<String, ParseError> {
        let mut is_escaped = false;
        let end = self.rest().char_indices().skip(1).find(|(_, character)| {
            let ends = *character == '"' && !is_escaped;
            is_escaped = *character == '\\' && !is_escaped;
            ends || *character == '\n'
        });
        let Some((length, '"')) = end else {
            return Err(self.wrong("this text has no closing quote on its line"));
        };
        let written = part(self.text, self.at..self.at + length + 1);
        let Ok(string) = serde_json::from_str(written) else {
            return Err(
                self.wrong("this text holds a character or an escape that JSON does not have")
            );
        };
        self.at += written.len();
        Ok(string)
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, ParseError> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_' | '$');
        let rest = self.rest();
        let word = part(rest, 0..rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        match serde_json::from_str(word) {
            Ok(value) => {
                self.at += word.len();
                Ok(value)
            }
            Err(_) => Err(self.expected("a value", rest.chars().next().unwrap_or(' '))),
        }
    }

    fn expected(&self, what: &str, found: char) -> ParseError {
        let found =
            if found.is_control() { "a control character".into() } else { format!("`{found}`") };
        self.wrong(format!("expected {what}, found {found}"))
    }

    fn wrong(&self, message: impl Into<String>) -> ParseError {
        ParseError { at: self.at, message: message.into() }
    }
}
