//! Finds `${NAME}`, `${NAME:-default}`, `$env:NAME`, `${vault:NAME}` and `$vault:NAME` in a text.

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextPiece<'a> {
    Literal(&'a str),
    Variable { text: &'a str, name: &'a str, default: Option<&'a str> },
    Vault { text: &'a str, name: &'a str },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableNaming {
    Strict,
    /// Anything but `}`, as in a capability file.
    Free,
}

/// Splits a text into pieces. What only looks like a reference (`$5`, `${a b}`) stays literal.
pub(super) fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    pieces_with(text, VariableNaming::Strict)
}

pub(super) fn pieces_with(text: &str, naming: VariableNaming) -> Vec<TextPiece<'_>> {
    let mut found = Vec::new();
    let mut literal_start = 0;
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find('$')) {
        let dollar = at + offset;
        let rest = text.get(dollar..).unwrap_or_default();
        let Some((piece, length)) = reference(rest, naming) else {
            at = dollar + 1;
            continue;
        };
        push_literal(&mut found, text.get(literal_start..dollar));
        found.push(piece);
        at = dollar + length;
        literal_start = at;
    }
    push_literal(&mut found, text.get(literal_start..));
    found
}

fn push_literal<'a>(found: &mut Vec<TextPiece<'a>>, literal: Option<&'a str>) {
    if let Some(literal) = literal.filter(|literal| !literal.is_empty()) {
        found.push(TextPiece::Literal(literal));
    }
}

fn reference(text: &str, naming: VariableNaming) -> Option<(TextPiece<'_>, usize)> {
    if let Some(inner) = text.strip_prefix("${") {
        // A default ends at the first `}`: replacement is one pass and never nested.
        let (inner, _) = inner.split_once('}')?;
        let length = inner.len() + "${}".len();
        let text = text.get(..length)?;
        if let Some(name) = inner.strip_prefix("vault:") {
            return (!name.is_empty() && name.bytes().all(is_vault_byte))
                .then_some((TextPiece::Vault { text, name }, length));
        }
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if is_variable_name(name) {
            return Some((TextPiece::Variable { text, name, default }, length));
        }
        let is_free = naming == VariableNaming::Free && !inner.is_empty();
        return is_free
            .then_some((TextPiece::Variable { text, name: inner, default: None }, length));
    }
    if let Some(rest) = text.strip_prefix("$env:") {
        let name = take(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let length = "$env:".len() + name.len();
        return is_variable_name(name).then_some((
            TextPiece::Variable { text: text.get(..length)?, name, default: None },
            length,
        ));
    }
    let name = take(text.strip_prefix("$vault:")?, is_vault_byte);
    let length = "$vault:".len() + name.len();
    (!name.is_empty()).then_some((TextPiece::Vault { text: text.get(..length)?, name }, length))
}

fn take(text: &str, accept: impl Fn(u8) -> bool) -> &str {
    let length = text.bytes().take_while(|byte| accept(*byte)).count();
    text.get(..length).unwrap_or_default()
}

fn is_variable_name(name: &str) -> bool {
    name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_vault_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
