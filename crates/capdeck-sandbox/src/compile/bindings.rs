//! The names of a session, and which of them a new cell may redeclare.

use std::collections::BTreeMap;

use oxc::{semantic::Scoping, semantic::SymbolFlags};

use super::positions::LineIndex;
use crate::envelope::{CodeDiagnostic, CodeSeverity};

const RESERVED: [&str; 2] = ["caplets", "$return"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BindingKind {
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

pub(super) struct BindingDeclaration {
    pub(super) name: String,
    pub(super) kind: BindingKind,
    offset: usize,
}

#[derive(Debug, Default)]
pub(crate) struct SessionBindings(BTreeMap<String, BindingKind>);

impl SessionBindings {
    pub(crate) fn kind(&self, name: &str) -> Option<BindingKind> {
        self.0.get(name).copied()
    }

    pub(crate) fn declare(&mut self, name: String, kind: BindingKind) {
        self.0.insert(name, kind);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, BindingKind)> {
        self.0.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn conflicts(
        &self,
        declares: &[BindingDeclaration],
        lines: &LineIndex<'_>,
    ) -> Vec<CodeDiagnostic> {
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
            Some(CodeDiagnostic::at(lines.at(declared.offset), CodeSeverity::Error, "2451", message))
        });
        problems.collect()
    }
}

fn allows(earlier: BindingKind, later: BindingKind) -> bool {
    let free = |kind| matches!(kind, BindingKind::Var | BindingKind::Function);
    match earlier {
        BindingKind::Placeholder => true,
        BindingKind::Enum => later == BindingKind::Enum,
        BindingKind::Namespace => later == BindingKind::Namespace,
        _ => free(earlier) && free(later),
    }
}

pub(super) fn declared(scoping: &Scoping) -> Vec<BindingDeclaration> {
    let symbols = scoping.get_bindings(scoping.root_scope_id()).values();
    let mut found: Vec<BindingDeclaration> = symbols
        .filter_map(|symbol| {
            let flags = scoping.symbol_flags(*symbol);
            let kind = kind(flags)?;
            let offset = scoping.symbol_span(*symbol).start as usize;
            Some(BindingDeclaration { name: scoping.symbol_name(*symbol).to_owned(), kind, offset })
        })
        .collect();
    found.sort_by_key(|declared| declared.offset);
    found
}

fn kind(flags: SymbolFlags) -> Option<BindingKind> {
    if flags.contains(SymbolFlags::Ambient) {
        return None;
    }
    let kinds = [
        (SymbolFlags::Class, BindingKind::Class),
        (SymbolFlags::ConstVariable, BindingKind::Const),
        (SymbolFlags::BlockScopedVariable, BindingKind::Let),
        (SymbolFlags::Function, BindingKind::Function),
        (SymbolFlags::FunctionScopedVariable, BindingKind::Var),
        (SymbolFlags::Enum, BindingKind::Enum),
        (SymbolFlags::ValueModule, BindingKind::Namespace),
    ];
    kinds.into_iter().find(|(flag, _)| flags.intersects(*flag)).map(|(_, kind)| kind)
}
