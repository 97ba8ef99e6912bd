//! Rewrites the top level of a cell to a script whose names persist.
//!
//! A script stores its `var` and `function` declarations on the global object, so `let`, `const` and `class` become
//! `var`; redeclaration and assignment were checked before. A script has no `return`: it becomes storing the value
//! and leaving a labelled block, which runs `finally` and skips `catch` like a return.

use oxc::{
    allocator::{Allocator, ArenaVec, TakeIn},
    ast::{
        ast::{
            Argument, ArrowFunctionExpression, BindingPattern, Class, ClassType, Expression,
            Function, LabelIdentifier, Program, Statement, VariableDeclaration,
            VariableDeclarationKind, VariableDeclarator,
        },
        builder::AstBuilder,
    },
    ast_visit::{VisitMut, walk_mut},
    span::{GetSpan, SPAN},
    syntax::scope::ScopeFlags,
};

const CELL_LABEL: &str = "$cell";
const RETURN_NAME: &str = "$return";

/// Rewrites a program. Returns true when the value of its last statement is its value, because it has no `return`.
pub(super) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator) -> bool {
    let builder = AstBuilder::new(allocator);
    for statement in &mut program.body {
        keep_names(statement, &builder);
    }
    let mut returns = ReturnRewriter { builder: &builder, found: false };
    for statement in &mut program.body {
        returns.visit_statement(statement);
    }
    if !returns.found {
        return true;
    }
    // Functions are hoisted, and a block would hide them.
    let mut outside = ArenaVec::new_in(&allocator);
    let mut inside = ArenaVec::new_in(&allocator);
    for statement in program.body.take_in(&allocator) {
        if matches!(statement, Statement::FunctionDeclaration(_)) {
            outside.push(statement);
        } else {
            inside.push(statement);
        }
    }
    let block = Statement::new_block_statement(SPAN, inside, &builder);
    let label = LabelIdentifier::new(SPAN, CELL_LABEL, &builder);
    outside.push(Statement::new_labeled_statement(SPAN, label, block, &builder));
    program.body = outside;
    false
}

fn keep_names<'a>(statement: &mut Statement<'a>, builder: &AstBuilder<'a>) {
    use oxc::allocator::GetAllocator;
    match statement {
        Statement::VariableDeclaration(declaration)
            if matches!(
                declaration.kind,
                VariableDeclarationKind::Let | VariableDeclarationKind::Const
            ) =>
        {
            declaration.kind = VariableDeclarationKind::Var;
        }
        Statement::ClassDeclaration(class) => {
            let Some(id) = &class.id else { return };
            let name = BindingPattern::new_binding_identifier(id.span, id.name, builder);
            let span = class.span;
            let mut class = class.take_in_box(&builder.allocator());
            class.r#type = ClassType::ClassExpression;
            let value = Expression::ClassExpression(class);
            let declarator = VariableDeclarator::new(span, name, None, Some(value), false, builder);
            *statement = Statement::VariableDeclaration(VariableDeclaration::boxed(
                span,
                VariableDeclarationKind::Var,
                [declarator],
                false,
                builder,
            ));
        }
        _ => {}
    }
}

/// Replaces the returns of the cell itself, not those of nested functions.
struct ReturnRewriter<'b, 'a> {
    builder: &'b AstBuilder<'a>,
    found: bool,
}

impl<'a> VisitMut<'a> for ReturnRewriter<'_, 'a> {
    fn visit_statement(&mut self, statement: &mut Statement<'a>) {
        let Statement::ReturnStatement(returned) = statement else {
            walk_mut::walk_statement(self, statement);
            return;
        };
        self.found = true;
        let span = returned.span();
        let callee = Expression::new_identifier(span, RETURN_NAME, self.builder);
        let given = returned.argument.take().map(Argument::from);
        let mut arguments = ArenaVec::new_in(self.builder);
        arguments.extend(given);
        let call =
            Expression::new_call_expression(span, callee, None, arguments, false, self.builder);
        let label = LabelIdentifier::new(SPAN, CELL_LABEL, self.builder);
        let both = [
            Statement::new_expression_statement(span, call, self.builder),
            Statement::new_break_statement(SPAN, Some(label), self.builder),
        ];
        *statement = Statement::new_block_statement(span, both, self.builder);
    }

    fn visit_function(&mut self, _: &mut Function<'a>, _: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _: &mut ArrowFunctionExpression<'a>) {}

    fn visit_class(&mut self, _: &mut Class<'a>) {}
}
