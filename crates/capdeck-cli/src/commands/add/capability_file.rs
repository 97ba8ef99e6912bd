//! An MCP server in the capability file of a project, where there is one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::{
    CAPABILITY_FILE_NAMES, Deck, Diagnostic, DiagnosticSeverity, SourceFile, SourceFormat,
    SourceLayer,
};
use capdeck_install::{ConfigDocument, DocumentStep, FileFormat, replace_file};
use serde_json::{Value, json};

use super::{AddCommonArgs, NewFileTarget, mcp::AddMcpArgs};
use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, TRUST_NEXT},
    plain_text::without_nulls,
};

/// The capability file that a server of the project goes to.
pub(super) fn file_of(
    common: &AddCommonArgs,
    context: &CommandContext<'_>,
) -> Result<Option<PathBuf>, CommandFailure> {
    if !common.project_deck {
        return Ok(None);
    }
    let settings = context.settings()?;
    let mut files = CAPABILITY_FILE_NAMES.iter().map(|name| settings.project_dir().join(name));
    Ok(files.find(|file| file.is_file()))
}

/// Adds the server to the file, which keeps everything else as it is.
pub(super) fn add_server(
    args: &AddMcpArgs,
    file: PathBuf,
    context: &CommandContext<'_>,
) -> CommandResult {
    let (common, printer) = (&args.common, context.printer);
    let target = NewFileTarget::resolve(common, context)?;
    let server = server(args, &target)?;
    let format = match file.extension().is_some_and(|ending| ending == "json") {
        true => FileFormat::Json,
        false => FileFormat::Yaml,
    };
    let before =
        fs::read_to_string(&file).map_err(|error| CommandFailure::file("read", &file, &error))?;
    let cannot = |why: String| {
        let message = format!("`{}` cannot be edited: {why}", file.display());
        CommandFailure::request("FILE_INVALID", message)
            .hint("see what is wrong with: capdeck validate")
    };
    let mut document =
        ConfigDocument::parse(&before, format).map_err(|error| cannot(error.to_string()))?;
    let servers = [DocumentStep::Key("servers".to_owned())];
    let known = document.get(&servers).and_then(Value::as_array);
    let place = known.and_then(|all| all.iter().position(|one| one["id"] == server["id"]));
    let edited = match place {
        Some(_) if !common.force => {
            let message = format!("`{}` has a server `{}` already", file.display(), common.id);
            return Err(CommandFailure::request("FILE_EXISTS", message)
                .hint("replace it with --force, or choose another id"));
        }
        Some(index) => {
            let [list] = servers;
            document.set(&[list, DocumentStep::Index(index)], server).map(drop)
        }
        None => document.push(&servers, server),
    };
    edited.map_err(|error| cannot(error.to_string()))?;
    let text = document.text();
    let warnings = new_problems(&before, &text, &file)?;
    replace_file(&file, text.as_bytes())
        .map_err(|error| CommandFailure::request("FILE_ERROR", error.to_string()))?;
    let facts = json!({ "id": common.id, "path": file, "warnings": warnings });
    printer.json_or(&facts, || {
        printer.note(&format!("added the server `{}` to {}", common.id, file.display()));
        for warning in &warnings {
            printer.warn(&warning.message);
        }
        printer.note(&format!("{TRUST_NEXT}\nthen test it: capdeck check {}", common.id));
    })
}

/// The entry as the format writes it.
fn server(args: &AddMcpArgs, target: &NewFileTarget) -> Result<Value, CommandFailure> {
    let fields = args.block(target)?.fields;
    if fields["transport"] == "sse" {
        return Err(CommandFailure::usage(
            "--transport sse: a capability file has no such servers",
        )
        .hint("leave it out; a server that only speaks SSE is recognised"));
    }
    if !args.common.tags.is_empty() {
        return Err(CommandFailure::usage("--tag: servers of a capability file have no tags"));
    }
    // A token is a reference to a variable, which is looked up when the server is used.
    let token = fields["auth"]["token"].as_str().and_then(|token| token.strip_prefix("$env:"));
    let headers = token.map(|name| json!({ "Authorization": format!("Bearer ${{{name}}}") }));
    let definition = without_nulls(json!({
        "cmd": fields["command"],
        "args": fields["args"],
        "env": fields["env"],
        "cwd": fields["cwd"],
        "url": fields["url"],
        "headers": headers,
    }));
    Ok(without_nulls(json!({
        "id": args.common.id,
        "type": "mcp",
        "displayName": args.common.name,
        "description": args.common.description,
        "def": definition,
    })))
}

/// What is wrong with the new text and was not with the old one. Errors refuse it.
fn new_problems(before: &str, after: &str, file: &Path) -> Result<Vec<Diagnostic>, CommandFailure> {
    let read = |text: &str| {
        let (path, text) = (file.to_owned(), Ok(text.to_owned()));
        let (layer, format) = (SourceLayer::ProjectCapabilityFile, SourceFormat::CapabilityFile);
        Deck::from_sources(vec![SourceFile { path, layer, format, text }]).diagnostics
    };
    let known = read(before);
    let is_new = |found: &Diagnostic| !known.iter().any(|one| one.message == found.message);
    let found: Vec<Diagnostic> = read(after).into_iter().filter(is_new).collect();
    let errors: Vec<&Diagnostic> =
        found.iter().filter(|one| one.severity == DiagnosticSeverity::Error).collect();
    let Some(first) = errors.first() else { return Ok(found) };
    let message = errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
    let failure = CommandFailure::usage(message).with_data(json!({ "problems": errors }));
    Err(CommandFailure { hint: first.fix.clone(), ..failure })
}
