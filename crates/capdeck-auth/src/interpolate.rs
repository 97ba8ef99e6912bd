//! Replaces references to variables and vault entries in a definition's strings, only at connect time.
//!
//! One pass: a replaced value is not searched for references, so an untrusted value cannot read other variables. All
//! failures are reported together.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    EnvironmentSnapshot, ProjectVariables, Secret, Vault, VaultHolder, VaultLookupError,
    is_secret_name,
};

#[derive(Debug, Clone, Copy)]
pub struct ReferenceLookup<'a> {
    environment: &'a EnvironmentSnapshot,
    /// With the holder of grants; without one the owner reads.
    vault: Option<(&'a Vault, Option<&'a VaultHolder>)>,
    project: Option<&'a ProjectVariables>,
}

#[derive(Debug, Clone)]
pub struct ResolvedValue<T> {
    pub value: T,
    /// The replaced values, for scrubbing logs, errors and results.
    pub substitutions: Vec<ReferenceSubstitution>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceSubstitution {
    pub name: String,
    pub value: Secret,
    /// True for vault values, and when the name or the position (`auth`, `headers`, a secret-like key) marks a
    /// secret.
    pub sensitive: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedText {
    pub text: String,
    pub substitutions: Vec<ReferenceSubstitution>,
}

/// A reference without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct UnresolvedReference {
    /// The reference as written, such as `$env:GH_TOKEN`.
    pub reference: String,
    /// The position, such as `env.GITHUB_TOKEN`; empty for a single text.
    pub place: String,
    pub reason: MissingReason,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingReason {
    #[error("environment variable `{name}` is not set")]
    Variable { name: String },
    /// Searched in the project, the environment and the vault.
    #[error("the variable `{name}` is not set")]
    ProjectVariable { name: String, file: PathBuf, vault_hint: String },
    #[error(transparent)]
    Vault(VaultLookupError),
}

#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("{}", join(.unresolved))]
    Unresolved { unresolved: Vec<UnresolvedReference> },
    /// The type does not round-trip through JSON; no definition does this.
    #[error("the value cannot be rebuilt after interpolation")]
    Shape { source: serde_json::Error },
}

impl UnresolvedReference {
    pub fn hint(&self) -> String {
        match &self.reason {
            MissingReason::Variable { name } => {
                format!("set it where capdeck is started, for example `export {name}=…`")
            }
            MissingReason::ProjectVariable { name, file, vault_hint } => {
                let file = file.display();
                format!(
                    "add `{name}=…` to `{file}`, or set it where capdeck is started, or {vault_hint}"
                )
            }
            MissingReason::Vault(miss) => miss.hint.clone(),
        }
    }

    pub fn code(&self) -> &'static str {
        match &self.reason {
            MissingReason::Variable { .. } | MissingReason::ProjectVariable { .. } => "unset",
            MissingReason::Vault(miss) => miss.kind.as_str(),
        }
    }
}

impl<'a> ReferenceLookup<'a> {
    /// Searches the environment and the vault entries granted to this holder.
    pub fn new(
        environment: &'a EnvironmentSnapshot,
        vault: &'a Vault,
        holder: &'a VaultHolder,
    ) -> Self {
        Self { environment, vault: Some((vault, Some(holder))), project: None }
    }

    /// Searches the environment and the whole vault, for the owner's host settings.
    pub fn of_owner(environment: &'a EnvironmentSnapshot, vault: &'a Vault) -> Self {
        Self { environment, vault: Some((vault, None)), project: None }
    }

    pub fn of_environment(environment: &'a EnvironmentSnapshot) -> Self {
        Self { environment, vault: None, project: None }
    }

    /// Searches `${NAME}` in the project's variables first, then the environment, then the granted vault entries.
    /// `None` changes nothing.
    pub fn in_project(self, variables: Option<&'a ProjectVariables>) -> Self {
        Self { project: variables, ..self }
    }
}

/// Returns whether a text has a reference that connecting replaces.
pub fn has_reference(text: &str) -> bool {
    pieces(text).iter().any(|piece| !matches!(piece, TextPiece::Literal(_)))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceTarget {
    Variable { name: String },
    Vault { name: String },
}

/// Returns the distinct references in one member of a value.
pub fn references(value: &impl Serialize, member: &str) -> Vec<ReferenceTarget> {
    let tree = serde_json::to_value(value).unwrap_or_default();
    let mut found = Vec::new();
    collect(tree.get(member).unwrap_or(&Value::Null), &mut found);
    found
}

/// Returns whether any text in a value may have a reference, in a definition or in a capability file of a project.
pub fn has_any_reference(value: &impl Serialize) -> bool {
    fn has_reference(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains('$'),
            Value::Array(items) => items.iter().any(has_reference),
            Value::Object(members) => members.values().any(has_reference),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    serde_json::to_value(value).is_ok_and(|tree| has_reference(&tree))
}

fn collect(value: &Value, found: &mut Vec<ReferenceTarget>) {
    match value {
        Value::String(text) => {
            for piece in pieces(text) {
                let reference = match piece {
                    TextPiece::Literal(_) => continue,
                    TextPiece::Variable { name, .. } => {
                        ReferenceTarget::Variable { name: name.to_owned() }
                    }
                    TextPiece::Vault { name, .. } => {
                        ReferenceTarget::Vault { name: name.to_owned() }
                    }
                };
                if !found.contains(&reference) {
                    found.push(reference);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

pub fn resolve_text(
    text: &str,
    lookup: ReferenceLookup<'_>,
) -> Result<ResolvedText, Vec<UnresolvedReference>> {
    let mut walk = ReferenceResolver::new(lookup);
    let text = walk.text(text);
    walk.finish().map(|substitutions| ResolvedText { text, substitutions })
}

/// Resolves every string at any depth; map keys stay as written.
pub fn resolve_value<T: Serialize + DeserializeOwned>(
    value: &T,
    lookup: ReferenceLookup<'_>,
) -> Result<ResolvedValue<T>, ResolveError> {
    let mut tree = serde_json::to_value(value).map_err(|source| ResolveError::Shape { source })?;
    let mut walk = ReferenceResolver::new(lookup);
    walk.tree(&mut tree);
    let substitutions =
        walk.finish().map_err(|unresolved| ResolveError::Unresolved { unresolved })?;
    let value = serde_json::from_value(tree).map_err(|source| ResolveError::Shape { source })?;
    Ok(ResolvedValue { value, substitutions })
}

fn join(unresolved: &[UnresolvedReference]) -> String {
    let mut messages: Vec<String> = unresolved.iter().map(ToString::to_string).collect();
    messages.dedup();
    messages.join("; ")
}

struct ReferenceResolver<'a> {
    lookup: ReferenceLookup<'a>,
    place: Vec<String>,
    substitutions: Vec<ReferenceSubstitution>,
    unresolved: Vec<UnresolvedReference>,
}

impl<'a> ReferenceResolver<'a> {
    fn new(lookup: ReferenceLookup<'a>) -> Self {
        Self { lookup, place: Vec::new(), substitutions: Vec::new(), unresolved: Vec::new() }
    }

    fn finish(self) -> Result<Vec<ReferenceSubstitution>, Vec<UnresolvedReference>> {
        if self.unresolved.is_empty() { Ok(self.substitutions) } else { Err(self.unresolved) }
    }

    fn tree(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.inside(index.to_string(), item);
                }
            }
            Value::Object(members) => {
                for (key, member) in members.iter_mut() {
                    self.inside(key.clone(), member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn inside(&mut self, step: String, value: &mut Value) {
        self.place.push(step);
        self.tree(value);
        self.place.pop();
    }

    fn text(&mut self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let naming = if self.lookup.project.is_some() {
            VariableNaming::Free
        } else {
            VariableNaming::Strict
        };
        for piece in pieces_with(text, naming) {
            match piece {
                TextPiece::Literal(literal) => replaced.push_str(literal),
                TextPiece::Variable { text, name, default } => match (self.variable(name), default)
                {
                    (Some(value), default) if default.is_none() || !value.is_empty() => {
                        replaced.push_str(self.substitute(name, value));
                    }
                    // A default is readable in the file, so it is not a secret.
                    (_, Some(default)) => replaced.push_str(default),
                    (_, None) => match self.vault_variable(name) {
                        Ok(value) => replaced.push_str(value.expose()),
                        Err(reason) => self.miss(text, reason),
                    },
                },
                TextPiece::Vault { text, name } => match self.vault_entry(name) {
                    Ok(value) => replaced.push_str(value.expose()),
                    Err(miss) => self.miss(text, MissingReason::Vault(miss)),
                },
            }
        }
        replaced
    }

    fn variable(&self, name: &str) -> Option<&'a str> {
        let own = self.lookup.project.and_then(|project| project.get(name));
        own.or_else(|| self.lookup.environment.get(name))
    }

    /// Only for a project's variables; other definitions write `$vault:` to read the vault.
    fn vault_variable(&mut self, name: &str) -> Result<Secret, MissingReason> {
        let owned = name.to_owned();
        let Some(project) = self.lookup.project else {
            return Err(MissingReason::Variable { name: owned });
        };
        self.vault_entry(name).map_err(|miss| MissingReason::ProjectVariable {
            name: owned,
            file: project.file().to_owned(),
            vault_hint: miss.hint,
        })
    }

    fn vault_entry(&mut self, reference: &str) -> Result<Secret, VaultLookupError> {
        let value = match self.lookup.vault {
            Some((vault, Some(holder))) => vault.resolve(holder, reference),
            Some((vault, None)) => vault.resolve_own(reference),
            None => Err(VaultLookupError::no_vault(reference)),
        }?;
        let (name, found) = (reference.to_owned(), value.clone());
        self.add_substitution(ReferenceSubstitution { name, value: found, sensitive: true });
        Ok(value)
    }

    fn substitute(&mut self, name: &str, value: &'a str) -> &'a str {
        let secret_place =
            |step: &String| step == "headers" || step == "auth" || is_secret_name(step);
        self.add_substitution(ReferenceSubstitution {
            name: name.to_owned(),
            value: Secret::new(value),
            sensitive: is_secret_name(name) || self.place.iter().any(secret_place),
        });
        value
    }

    fn add_substitution(&mut self, substitution: ReferenceSubstitution) {
        if !self.substitutions.contains(&substitution) {
            self.substitutions.push(substitution);
        }
    }

    fn miss(&mut self, reference: &str, reason: MissingReason) {
        self.unresolved.push(UnresolvedReference {
            reference: reference.to_owned(),
            place: self.place.join("."),
            reason,
        });
    }
}

#[derive(Debug, PartialEq, Eq)]
enum TextPiece<'a> {
    Literal(&'a str),
    Variable { text: &'a str, name: &'a str, default: Option<&'a str> },
    Vault { text: &'a str, name: &'a str },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VariableNaming {
    Strict,
    /// Anything but `}`, as in a capability file.
    Free,
}

/// Splits a text into pieces. What only looks like a reference (`$5`, `${a b}`) stays literal.
fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    pieces_with(text, VariableNaming::Strict)
}

fn pieces_with(text: &str, naming: VariableNaming) -> Vec<TextPiece<'_>> {
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
