//! The names of a session, and which of them a new cell may redeclare.

use std::collections::BTreeMap;

use oxc::{semantic::Scoping, semantic::SymbolFlags};

use super::positions::Lines;
use crate::envelope::{Diagnostic, Severity};

const RESERVED: [&str; 2] = ["caplets", "$return"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Var,
    Function,
    Let,
    Const,
    Class,
    Enum,
    Namespace,
    /// A `let`, `const` or `class` whose cell failed before it got a value.
    Placeholder,
}

pub(super) struct Declared {
    pub(super) name: String,
    pub(super) kind: Kind,
    offset: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Bindings(BTreeMap<String, Kind>);

impl Bindings {
    pub(crate) fn kind(&self, name: &str) -> Option<Kind> {
        self.0.get(name).copied()
    }

    pub(crate) fn declare(&mut self, name: String, kind: Kind) {
        self.0.insert(name, kind);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.0.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn conflicts(&self, declares: &[Declared], lines: &Lines<'_>) -> Vec<Diagnostic> {
        let problems = declares.iter().filter_map(|declared| {
            let name = &declared.name;
            let message = if RESERVED.contains(&name.as_str()) {
                format!("`{name}` belongs to the sandbox: choose another name")
            } else {
                let earlier = self.kind(name)?;
                if allows(earlier, declared.kind) {
                    return None;
                }
                format!(
                    "`{name}` is already declared in this session: assign to it without a keyword, or choose another name"
                )
            };
            Some(Diagnostic::at(lines.at(declared.offset), Severity::Error, "2451", message))
        });
        problems.collect()
    }
}

fn allows(earlier: Kind, later: Kind) -> bool {
    let free = |kind| matches!(kind, Kind::Var | Kind::Function);
    match earlier {
        Kind::Placeholder => true,
        Kind::Enum => later == Kind::Enum,
        Kind::Namespace => later == Kind::Namespace,
        _ => free(earlier) && free(later),
    }
}

pub(super) fn declared(scoping: &Scoping) -> Vec<Declared> {
    let symbols = scoping.get_bindings(scoping.root_scope_id()).values();
    let mut found: Vec<Declared> = symbols
        .filter_map(|symbol| {
            let flags = scoping.symbol_flags(*symbol);
            let kind = kind(flags)?;
            let offset = scoping.symbol_span(*symbol).start as usize;
            Some(Declared { name: scoping.symbol_name(*symbol).to_owned(), kind, offset })
        })
        .collect();
    found.sort_by_key(|declared| declared.offset);
    found
}

fn kind(flags: SymbolFlags) -> Option<Kind> {
    if flags.contains(SymbolFlags::Ambient) {
        return None;
    }
    let kinds = [
        (SymbolFlags::Class, Kind::Class),
        (SymbolFlags::ConstVariable, Kind::Const),
        (SymbolFlags::BlockScopedVariable, Kind::Let),
        (SymbolFlags::Function, Kind::Function),
        (SymbolFlags::FunctionScopedVariable, Kind::Var),
        (SymbolFlags::Enum, Kind::Enum),
        (SymbolFlags::ValueModule, Kind::Namespace),
    ];
    kinds.into_iter().find(|(flag, _)| flags.intersects(*flag)).map(|(_, kind)| kind)
}
