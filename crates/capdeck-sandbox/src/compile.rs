//! Compiles a TypeScript cell to JavaScript and reports problems before it runs.
//!
//! The code is parsed as a module with top-level `await` and `return`. Types are removed; then the top level is
//! rewritten to a script whose names persist (see [`top_level`]). Runs in the worker: untrusted input is not parsed
//! in a process with secrets.

mod bindings;
mod known_types;
mod literal;
mod positions;
mod survey;
mod top_level;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use oxc::{
    allocator::Allocator,
    codegen::{Codegen, CodegenOptions, CommentOptions},
    diagnostics::OxcDiagnostic,
    parser::{ParseOptions, Parser},
    semantic::SemanticBuilder,
    span::SourceType,
    transformer::{TransformOptions, Transformer},
};

use self::positions::LineIndex;
pub(crate) use self::{
    bindings::{BindingKind, SessionBindings},
    known_types::KnownTypes,
    positions::PositionMap,
};
use crate::{
    envelope::{CodeDiagnostic, CodeLocation, CodeSeverity},
    protocol::CapabilityUse,
};

const MAX_DIAGNOSTICS: usize = 50;

#[derive(Debug)]
pub(crate) struct CompiledCell {
    pub(crate) code: String,
    pub(crate) positions: PositionMap,
    pub(crate) uses: Vec<CapabilityUse>,
    pub(crate) declares: Vec<(String, BindingKind)>,
    pub(crate) types: Vec<(String, String)>,
    /// True when the value of the last statement is the cell's value: it has no `return`.
    pub(crate) gives_last_value: bool,
}

/// Compiles a cell for a session with these names. A compiler panic becomes a diagnostic.
pub(crate) fn compile(
    code: &str,
    session: &SessionBindings,
) -> Result<CompiledCell, Vec<CodeDiagnostic>> {
    let compiled = catch_unwind(AssertUnwindSafe(|| compile_or_panic(code, session)));
    compiled.unwrap_or_else(|_| {
        let message =
            "the code could not be read; this is a fault of the compiler, not of the code";
        Err(vec![CodeDiagnostic::about(CodeSeverity::Error, "SYNTAX_ERROR", message)])
    })
}

fn compile_or_panic(
    code: &str,
    session: &SessionBindings,
) -> Result<CompiledCell, Vec<CodeDiagnostic>> {
    let lines = LineIndex::new(code);
    if let Some(offset) = too_deep(code) {
        return Err(vec![CodeDiagnostic::at(
            lines.at(offset),
            CodeSeverity::Error,
            "SYNTAX_ERROR",
            format!("brackets nest more than {MAX_NESTING} levels deep here"),
        )]);
    }
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, code, SourceType::ts().with_module(true))
        .with_options(options)
        .parse();
    let mut program = parsed.program;
    let problems = syntax_problems(parsed.diagnostics.errors(), &lines);
    if !problems.is_empty() {
        return Err(problems);
    }
    let analysed = SemanticBuilder::new_compiler()
        .with_excess_capacity(2.0)
        .with_enum_eval(true)
        .build(&program);
    let mut problems = syntax_problems(analysed.diagnostics.errors(), &lines);
    let scoping = analysed.semantic.into_scoping();
    let survey = survey::survey(&program, &scoping, &lines, session);
    problems.extend(survey.problems);
    let declares = bindings::declared(&scoping);
    problems.extend(session.conflicts(&declares, &lines));
    if !problems.is_empty() {
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems.truncate(MAX_DIAGNOSTICS);
        return Err(problems);
    }
    let types = known_types::declared(&program, code);
    let options = TransformOptions::default();
    let transformed = Transformer::new(&allocator, Path::new("cell.ts"), &options)
        .build_with_scoping(scoping, &mut program);
    let problems = syntax_problems(transformed.diagnostics.errors(), &lines);
    if !problems.is_empty() {
        return Err(problems);
    }
    let gives_last_value = top_level::rewrite(&mut program, &allocator);
    let printed = Codegen::new()
        .with_options(CodegenOptions {
            source_map_path: Some("cell.ts".into()),
            comments: CommentOptions::disabled(),
            ..CodegenOptions::default()
        })
        .build(&program);
    let tokens = printed.map.as_ref().map(|map| {
        let tokens = map.get_tokens();
        tokens
            .map(|token| {
                let from = (token.get_dst_line(), token.get_dst_col());
                (
                    from,
                    CodeLocation {
                        line: token.get_src_line() + 1,
                        column: token.get_src_col() + 1,
                    },
                )
            })
            .collect()
    });
    Ok(CompiledCell {
        positions: PositionMap::new(tokens.unwrap_or_default()),
        code: printed.code,
        uses: survey.uses,
        declares: declares.into_iter().map(|declared| (declared.name, declared.kind)).collect(),
        types,
        gives_last_value,
    })
}

/// Levels of brackets, blocks and templates. Code stays below twenty, generated data below a hundred.
const MAX_NESTING: usize = 400;

/// Consecutive operators that each open a level without a bracket, such as `!` and `-`.
const MAX_SIGNS: usize = 2_000;

/// Returns the position where the nesting exceeds the limit. Strings and comments count as code: the limit is high
/// enough.
fn too_deep(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut signs = 0_usize;
    for (offset, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        signs = match byte {
            b'!' | b'~' | b'+' | b'-' | b'?' | b':' | b'=' | b'>' | b'*' => signs + 1,
            b' ' | b'\t' | b'\n' | b'\r' => signs,
            _ => 0,
        };
        if depth > MAX_NESTING || signs > MAX_SIGNS {
            return Some(offset);
        }
    }
    None
}

fn syntax_problems<'a>(
    errors: impl Iterator<Item = &'a OxcDiagnostic>,
    lines: &LineIndex<'_>,
) -> Vec<CodeDiagnostic> {
    errors
        .take(MAX_DIAGNOSTICS)
        .map(|error| {
            let help = error.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
            let message = format!("{}{help}", error.message);
            match error.labels.first() {
                Some(label) => CodeDiagnostic::at(
                    lines.at(label.offset() as usize),
                    CodeSeverity::Error,
                    "SYNTAX_ERROR",
                    message,
                ),
                None => CodeDiagnostic::about(CodeSeverity::Error, "SYNTAX_ERROR", message),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
