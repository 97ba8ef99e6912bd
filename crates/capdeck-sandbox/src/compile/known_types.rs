//! The types that earlier cells declared, for the type check of a later cell.
//!
//! Types do not exist at run time. Declared types are stored as text; the types of variables and functions are known
//! if the cell was checked, otherwise they are `any`.

use std::collections::{BTreeMap, BTreeSet};

use oxc::{
    ast::ast::{Program, Statement},
    span::GetSpan,
};

use super::bindings::{BindingKind, SessionBindings};
use crate::protocol::SessionTypes;

const MAX_TYPE_BYTES: usize = 256 << 10;

const MAX_KNOWN_TOOLS: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct KnownTypes {
    declared: BTreeMap<String, String>,
    of_values: BTreeMap<String, String>,
    /// Named tools with their capabilities: the types of values refer to theirs.
    tools: BTreeSet<(String, String)>,
}

impl KnownTypes {
    /// Adds the declarations of a cell: types by their text, and values with the types of a check.
    pub(crate) fn add(
        &mut self,
        declares: &[(String, BindingKind)],
        types: Vec<(String, String)>,
        of_values: Vec<(String, String)>,
    ) {
        for (name, _) in declares {
            self.of_values.remove(name);
        }
        self.declared.extend(types);
        let is_declared = |name: &str| declares.iter().any(|(declared, _)| declared == name);
        self.of_values.extend(of_values.into_iter().filter(|(name, _)| is_declared(name)));
        while self.size() > MAX_TYPE_BYTES && self.of_values.pop_last().is_some() {}
        while self.size() > MAX_TYPE_BYTES && self.declared.pop_last().is_some() {}
    }

    pub(crate) fn add_tools(&mut self, tools: Vec<(String, String)>) {
        let room = MAX_KNOWN_TOOLS.saturating_sub(self.tools.len());
        self.tools.extend(tools.into_iter().take(room));
    }

    pub(crate) fn of_session(&self, names: &SessionBindings) -> SessionTypes {
        let tools = self.tools.iter().cloned().collect();
        SessionTypes { declarations: self.declarations(names), tools }
    }

    fn declarations(&self, names: &SessionBindings) -> String {
        let mut text: String = self.declared.values().map(|text| format!("{text}\n")).collect();
        for (name, kind) in names.iter() {
            let line = match kind {
                BindingKind::Class => format!(
                    "declare class {name}<A = any, B = any, C = any> {{ constructor(...given: any[]); static [name: string]: any; [name: string]: any }}"
                ),
                BindingKind::Enum => format!("declare var {name}: any; type {name} = any;"),
                BindingKind::Placeholder => continue,
                BindingKind::Var
                | BindingKind::Function
                | BindingKind::Let
                | BindingKind::Const
                | BindingKind::Namespace => {
                    let known = self.of_values.get(name).map_or("any", String::as_str);
                    format!("declare var {name}: {known};")
                }
            };
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    fn size(&self) -> usize {
        let parts = self.declared.values().chain(self.of_values.values());
        parts.map(String::len).sum()
    }
}

/// Returns the types that a cell declares at its top level, with their text. Parts of one interface stay together.
pub(super) fn declared(program: &Program<'_>, code: &str) -> Vec<(String, String)> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for statement in &program.body {
        let name = match statement {
            Statement::TSInterfaceDeclaration(interface) => interface.id.name.to_string(),
            Statement::TSTypeAliasDeclaration(alias) => alias.id.name.to_string(),
            _ => continue,
        };
        let span = statement.span();
        let text = code.get(span.start as usize..span.end as usize).unwrap_or_default();
        let held = found.entry(name).or_default();
        held.push_str(text);
        held.push('\n');
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_name_declared_again_loses_its_type() {
        let mut names = SessionBindings::default();
        let mut types = KnownTypes::default();
        names.declare("x".to_owned(), BindingKind::Var);
        let declares = [("x".to_owned(), BindingKind::Var)];
        types.add(&declares, Vec::new(), vec![pair("x", "number"), pair("stranger", "string")]);
        assert_eq!(types.declarations(&names), "declare var x: number;\n");
        types.add(&declares, vec![pair("Issue", "interface Issue {}")], Vec::new());
        assert_eq!(types.declarations(&names), "interface Issue {}\ndeclare var x: any;\n");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut types = KnownTypes::default();
        let long = "x".repeat(MAX_TYPE_BYTES);
        types.add(&[], vec![pair("A", &long), pair("B", &long)], Vec::new());
        assert_eq!(types.declared.len(), 1);
    }
}
