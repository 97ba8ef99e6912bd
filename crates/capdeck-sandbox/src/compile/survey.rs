//! Finds the capabilities and tools that a parsed cell names, and unsupported syntax.

use std::collections::HashMap;

use oxc::{
    ast::ast::{
        AccessorProperty, BindingPattern, CallExpression, Decorator, Expression,
        IdentifierReference, ImportExpression, ImportMeta, MemberExpression, Program, Statement,
        TryStatement, VariableDeclarator,
    },
    ast_visit::{Visit, walk},
    semantic::{Scoping, SymbolFlags, SymbolId},
    span::{GetSpan, Span},
};

use super::{
    bindings::{BindingKind, SessionBindings},
    literal,
    positions::LineIndex,
};
use crate::{
    envelope::{CodeDiagnostic, CodeSeverity},
    protocol::{CapabilityUse, MemberUse},
};

/// Functions of `caplets` itself and members of every object; other members are capabilities.
const BUILT_IN_MEMBERS: [&str; 7] =
    ["search", "types", "artifacts", "debug", "then", "toJSON", "constructor"];

pub(super) struct CellSurvey {
    pub(super) uses: Vec<CapabilityUse>,
    pub(super) problems: Vec<CodeDiagnostic>,
}

pub(super) fn survey<'a>(
    program: &Program<'a>,
    scoping: &Scoping,
    lines: &LineIndex<'_>,
    session: &SessionBindings,
) -> CellSurvey {
    let found = CellSurvey { uses: Vec::new(), problems: Vec::new() };
    let aliases = HashMap::new();
    let mut reader =
        SurveyVisitor { scoping, lines, session, aliases, catching: 0, asks_deck: false, found };
    for statement in &program.body {
        reader.look_at_module(statement);
    }
    reader.visit_program(program);
    if reader.asks_deck {
        reader.found.uses.iter_mut().for_each(|used| used.guarded = true);
    }
    reader.found
}

/// Whether a use of a handle can tell that there is no such capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UseKind {
    /// Such as `if (caplets.linear)`, `typeof caplets.linear` or `caplets.linear?.tools()`.
    Asks,
    /// Such as `caplets.linear.tools()`.
    Relies,
}

impl UseKind {
    fn of_member(member: &MemberExpression<'_>) -> Self {
        if member.optional() { Self::Asks } else { Self::Relies }
    }
}

struct SurveyVisitor<'s> {
    scoping: &'s Scoping,
    lines: &'s LineIndex<'s>,
    session: &'s SessionBindings,
    /// Constants that hold a handle: `const gh = caplets.github`.
    aliases: HashMap<SymbolId, String>,
    /// The number of `try` blocks with a `catch` around the current place.
    catching: usize,
    /// The cell uses `caplets` as a value, such as in `"linear" in caplets`, and so may ask for any capability.
    asks_deck: bool,
    found: CellSurvey,
}

impl SurveyVisitor<'_> {
    fn problem(&mut self, span: Span, code: &str, message: impl Into<String>) {
        let place = self.lines.at(span.start as usize);
        self.found.problems.push(CodeDiagnostic::at(place, CodeSeverity::Error, code, message));
    }

    fn no_import(&mut self, span: Span) {
        self.problem(
            span,
            "IMPORT_UNAVAILABLE",
            "nothing can be imported in code mode: use the globals and `caplets`",
        );
    }

    /// A cell is not a module: it cannot import or export. Namespaces inside it may.
    fn look_at_module(&mut self, statement: &Statement<'_>) {
        let message = match statement {
            Statement::ImportDeclaration(_)
            | Statement::TSImportEqualsDeclaration(_)
            | Statement::ExportAllDeclaration(_)
            | Statement::ExportFromDeclaration(_) => return self.no_import(statement.span()),
            Statement::ExportDeclaration(_) | Statement::ExportNamedDeclaration(_) => {
                "a cell exports nothing: leave out `export`; names at the top level stay for later cells"
            }
            Statement::ExportDefaultDeclaration(_) | Statement::TSExportAssignment(_) => {
                "a cell exports nothing: write `return value`"
            }
            _ => return,
        };
        self.problem(statement.span(), "EXPORT_UNAVAILABLE", message);
    }

    fn symbol(&self, identifier: &IdentifierReference<'_>) -> Option<SymbolId> {
        self.scoping.get_reference(identifier.reference_id.get()?).symbol_id()
    }

    /// Returns true for a global that neither this cell nor the session replaced.
    fn is_global(&self, identifier: &IdentifierReference<'_>, name: &str) -> bool {
        identifier.name == name
            && self.symbol(identifier).is_none()
            && self.session.kind(name).is_none()
    }

    /// The capability that an expression is a handle of, and where it is named.
    fn capability(&self, expression: &Expression<'_>) -> Option<(String, Span)> {
        if let Expression::Identifier(identifier) = literal::plain(expression) {
            let id = self.aliases.get(&self.symbol(identifier)?)?;
            return Some((id.clone(), identifier.span));
        }
        self.named_capability(literal::plain(expression).as_member_expression()?)
    }

    /// The same for a member of `caplets`.
    fn named_capability(&self, member: &MemberExpression<'_>) -> Option<(String, Span)> {
        let (object, id, span) = named_member(member)?;
        (self.is_caplets(object) && !BUILT_IN_MEMBERS.contains(&id.as_str())).then_some((id, span))
    }

    fn is_caplets(&self, expression: &Expression<'_>) -> bool {
        matches!(literal::plain(expression), Expression::Identifier(name) if self.is_global(name, "caplets"))
    }

    /// A member of a capability, and where the capability is named.
    fn member_use(&self, member: &MemberExpression<'_>) -> Option<(String, Span, MemberUse)> {
        let (object, name, span) = named_member(member)?;
        let (capability, at) = self.capability(object)?;
        let location = self.lines.at(span.start as usize);
        Some((capability, at, MemberUse { name, location, tool: None, arguments: None }))
    }

    fn note(&mut self, capability: String, at: Span, member: Option<MemberUse>, asks: UseKind) {
        let location = self.lines.at(at.start as usize);
        let guarded = asks == UseKind::Asks || self.catching > 0;
        self.found.uses.push(CapabilityUse { capability, member, location, guarded });
    }

    /// Returns true for `fetch`, also as a member of the global object.
    fn is_fetch(&self, callee: &Expression<'_>) -> bool {
        match callee {
            Expression::Identifier(name) => self.is_global(name, "fetch"),
            _ => callee.as_member_expression().and_then(named_member).is_some_and(
                |(object, name, _)| {
                    name == "fetch"
                        && matches!(literal::plain(object), Expression::Identifier(global) if self.is_global(global, "globalThis"))
                },
            ),
        }
    }
}

/// The object of a member and the member's name, if the code names it literally.
fn named_member<'e, 'a>(
    member: &'e MemberExpression<'a>,
) -> Option<(&'e Expression<'a>, String, Span)> {
    match member {
        MemberExpression::StaticMemberExpression(member) => {
            Some((&member.object, member.property.name.to_string(), member.property.span))
        }
        MemberExpression::ComputedMemberExpression(member) => {
            let Expression::StringLiteral(name) = literal::plain(&member.expression) else {
                return None;
            };
            Some((&member.object, name.value.to_string(), name.span))
        }
        MemberExpression::PrivateFieldExpression(_) => None,
    }
}

impl<'a> Visit<'a> for SurveyVisitor<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let callee = literal::plain(&call.callee);
        if self.is_fetch(callee) {
            self.problem(
                call.span,
                "FETCH_UNAVAILABLE",
                "`fetch` is not available in code mode: call a capability, such as `caplets.<id>.callTool(name, args)`",
            );
        } else if matches!(callee, Expression::Identifier(name) if self.is_global(name, "require"))
        {
            self.no_import(call.span);
        }
        let callee = callee.as_member_expression();
        let used =
            callee.and_then(|callee| Some((self.member_use(callee)?, UseKind::of_member(callee))));
        let Some(((capability, at, mut member), asks)) = used else {
            walk::walk_call_expression(self, call);
            return;
        };
        let mut arguments = call.arguments.iter().map(literal::argument);
        if matches!(member.name.as_str(), "callTool" | "describeTool") {
            let tool = arguments.next().flatten();
            member.tool = tool.and_then(|tool| tool.as_str().map(str::to_owned));
        }
        // No argument counts as an empty object.
        let literals = arguments.next().unwrap_or_else(|| Some(serde_json::json!({})));
        member.arguments = literals.map(|arguments| arguments.to_string());
        self.note(capability, at, Some(member), asks);
        self.visit_arguments(&call.arguments);
    }

    fn visit_member_expression(&mut self, member: &MemberExpression<'a>) {
        let asks = UseKind::of_member(member);
        if let Some((capability, at, member)) = self.member_use(member) {
            self.note(capability, at, Some(member), asks);
        } else if let Some((capability, at)) = self.named_capability(member) {
            self.note(capability, at, None, UseKind::Asks);
        } else if !named_member(member).is_some_and(|(object, ..)| self.is_caplets(object)) {
            walk::walk_member_expression(self, member);
        }
    }

    fn visit_try_statement(&mut self, statement: &TryStatement<'a>) {
        let catches = usize::from(statement.handler.is_some());
        self.catching += catches;
        self.visit_block_statement(&statement.block);
        self.catching -= catches;
        if let Some(handler) = &statement.handler {
            self.visit_catch_clause(handler);
        }
        if let Some(finalizer) = &statement.finalizer {
            self.visit_block_statement(finalizer);
        }
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(name), Some(init)) =
            (&declarator.id, &declarator.init)
            && let Some(symbol) = name.symbol_id.get()
            && self.scoping.symbol_flags(symbol).contains(SymbolFlags::ConstVariable)
            && let Some((capability, at)) = self.capability(init)
        {
            self.aliases.insert(symbol, capability.clone());
            self.note(capability, at, None, UseKind::Relies);
            return;
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        let Some(reference) = identifier.reference_id.get() else { return };
        let reference = self.scoping.get_reference(reference);
        if !reference.is_write() {
            let alias = reference.symbol_id().and_then(|symbol| self.aliases.get(&symbol));
            if let Some(capability) = alias.cloned() {
                self.note(capability, identifier.span, None, UseKind::Asks);
            }
            self.asks_deck |= self.is_global(identifier, "caplets");
            return;
        }
        let is_constant = match reference.symbol_id() {
            // Inside functions and blocks the engine enforces constants.
            Some(symbol) => {
                self.scoping.symbol_scope_id(symbol) == self.scoping.root_scope_id()
                    && self.scoping.symbol_flags(symbol).contains(SymbolFlags::ConstVariable)
            }
            None => self.session.kind(&identifier.name) == Some(BindingKind::Const),
        };
        if is_constant {
            let message = format!("`{}` is a constant and cannot be assigned", identifier.name);
            self.problem(identifier.span, "2588", message);
        }
    }

    // The engine supports neither of these, and would only report an unexpected character.
    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.problem(
            decorator.span,
            "SYNTAX_ERROR",
            "decorators are not available in code mode: call the function yourself",
        );
    }

    fn visit_accessor_property(&mut self, property: &AccessorProperty<'a>) {
        self.problem(
            property.span,
            "SYNTAX_ERROR",
            "`accessor` is not available in code mode: write a field, or a getter and a setter",
        );
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        self.no_import(import.span);
    }

    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.no_import(meta.span);
    }
}
