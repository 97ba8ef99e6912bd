//! `capdeck cmp …`: CMP tools as such: what is installed, what words mean, and exporting.

mod intent;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_catalog::{Capability, Catalog};
use capdeck_definition::{
    Backend, CmpExport, CmpTool, Definition, ExportError, SourceLayer, check_cmp_paths, export_cmp,
};
use capdeck_host::known_capability;
use capdeck_install::replace_file;
use serde_json::{Value, json};

use super::command_table;
use crate::{
    commands::{
        CommandContext,
        check::{ENCODING, token_counter},
        validate::{manifest_sizes, report},
    },
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::one_line,
    table::{TextTable, cell},
};

command_table! {
    /// List, check, run and export CMP tools: described command-line tools
    ///
    /// CMP describes command-line tools by two files beside them. Tools are found in ~/.cmp/tools, in
    /// /usr/local/share/cmp/tools and in the folders that `CMP_TOOL_PATH` names, and are part of the deck.
    pub(crate) enum CmpCommand default List {
        List(CmpListArgs) => list,
        Validate(CmpValidateArgs) => validate,
        Intent(intent::CmpIntentArgs) => intent::run,
        Snippet(CmpSnippetArgs) => snippet,
        Export(CmpExportArgs) => export,
    }
}

/// The CMP tools in force, by id.
fn installed(catalog: &Catalog) -> impl Iterator<Item = (&Arc<Capability>, &CmpTool)> {
    catalog.capabilities().filter_map(|capability| match &capability.definition.backend {
        Backend::Cmp(tool) if capability.is_usable() => Some((capability, tool)),
        _ => None,
    })
}

/// Show the installed CMP tools
///
/// Reads files only; nothing is run.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CmpListArgs {
    /// Only the tools of this domain.
    #[arg(value_name = "DOMAIN")]
    domain: Option<String>,
}

fn list(args: &CmpListArgs, context: &CommandContext<'_>) -> CommandResult {
    let CmpListArgs { domain } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let catalog = host.catalog();
    let tokens = token_counter();
    let wanted =
        |name: &str| domain.as_ref().is_none_or(|domain| domain.eq_ignore_ascii_case(name));
    let found: Vec<_> = installed(&catalog).filter(|(_, tool)| wanted(&tool.domain)).collect();
    let item = |(capability, tool): &(&Arc<Capability>, &CmpTool)| {
        let definition = &capability.definition;
        let intents = tool.intents.iter();
        let intents: Vec<Value> =
            intents.map(|(name, one)| json!({ "name": name, "patterns": one.patterns })).collect();
        json!({
            "id": definition.id,
            "domain": tool.domain,
            "name": definition.name,
            "summary": definition.description,
            "version": tool.version,
            "tags": definition.tags,
            "requires": tool.requires,
            "intents": intents,
            "tokens": tokens.count(&tool.manifest),
            "source": definition.source,
        })
    };
    let items: Vec<Value> = found.iter().map(item).collect();
    printer.json_or(&json!({ "items": items }), || {
        let heading = ["ID", "DOMAIN", "VERSION", "INTENTS", "SUMMARY"];
        let table = TextTable::new(heading, &found, |(capability, tool)| {
            let definition = &capability.definition;
            [
                cell(&definition.id),
                cell(&tool.domain),
                cell(&tool.version),
                cell(tool.intents.len()),
                cell(&definition.description),
            ]
        });
        let nothing = match domain {
            Some(domain) => {
                format!("no CMP tool of the domain `{}` is installed", one_line(domain))
            }
            None => "no CMP tool is installed; put one into ~/.cmp/tools".to_owned(),
        };
        table.print_or(&nothing, printer);
    })?;
    for entry in catalog.quarantined().iter().filter(|entry| entry.source.layer == SourceLayer::Cmp)
    {
        printer.warn(&format!("`{}` does not load: {}", entry.id, one_line(&entry.reason)));
        if let Some(folder) = entry.source.path.ancestors().nth(2) {
            let folder = folder.display();
            printer.note(&format!("see what to correct with: capdeck cmp validate {folder}"));
        }
    }
    Ok(ExitStatus::Done)
}

/// Check the files of CMP tools
///
/// Takes tool folders, folders of them, or one of a tool's files. Fails when there is an error; warnings only inform.
#[derive(Debug, clap::Args)]
pub(crate) struct CmpValidateArgs {
    /// Tool folders, folders of tools, or a tool's `manifest.json` or `capability.json`.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

fn validate(args: &CmpValidateArgs, context: &CommandContext<'_>) -> CommandResult {
    let mut deck = check_cmp_paths(&args.paths);
    let sizes = manifest_sizes(&deck);
    deck.diagnostics.extend(sizes);
    report(&deck, context)
}

/// The instruction. Its size does not depend on what is installed.
const SNIPPET: &str = "## Local tools (CMP)

Command-line tools are installed here. When one might help:
1. `capdeck cmp intent \"WHAT YOU WANT\"` finds the tool and its parameters
2. add `--run --param NAME=VALUE --json` to run it
3. `capdeck cmp list` shows every tool

A tool that requires approval waits for the person: say what it would do, and that they run the `capdeck approve` line of the hint.
";

/// Print the instruction for an agent's rules file
///
/// It costs the same few tokens with any number of installed tools; the number is printed on stderr.
#[derive(Debug, clap::Args)]
pub(crate) struct CmpSnippetArgs {}

fn snippet(_: &CmpSnippetArgs, context: &CommandContext<'_>) -> CommandResult {
    let tokens = token_counter().count(SNIPPET);
    let printer = context.printer;
    printer.json_or(&json!({ "text": SNIPPET, "tokens": tokens, "encoding": ENCODING }), || {
        printer.data(SNIPPET);
        printer.note(&format!("{tokens} tokens ({ENCODING})"));
    })
}

/// Write a capability of commands as a CMP tool
///
/// Makes `cmp/manifest.json` and `cmp/capability.json` in the folder. Files that are already there and say something else
/// are not touched unless --force is given.
#[derive(Debug, clap::Args)]
pub(crate) struct CmpExportArgs {
    /// The capability's id.
    #[arg(value_name = "CAPABILITY", add = ids())]
    id: String,
    /// The tool's folder, such as ~/.cmp/tools/NAME.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Replace files that are already there.
    #[arg(long)]
    force: bool,
}

fn export(args: &CmpExportArgs, context: &CommandContext<'_>) -> CommandResult {
    let CmpExportArgs { id, folder, force } = args;
    let host = context.open_host()?;
    let capability = known_capability(&host, id)?;
    let exported = export_cmp(&capability.definition).map_err(refused)?;
    let here = context.env.current_dir.clone().unwrap_or_default();
    let folder = here.join(folder);
    write(&folder, &exported, examples_of(&capability.definition)?, *force)?;
    let printer = context.printer;
    let notes: Vec<String> = exported.notes.iter().map(|note| one_line(note)).collect();
    let path = folder.join("cmp");
    printer.json_or(&json!({ "id": id, "path": path, "notes": notes }), || {
        notes.iter().for_each(|note| printer.warn(note));
        printer.note(&format!("wrote {}", path.display()));
    })
}

fn refused(error: ExportError) -> CommandFailure {
    let message = error.to_string();
    match error {
        ExportError::NoCommands { .. } => CommandFailure::request("NOT_EXPORTABLE", message)
            .hint("only capabilities of commands can be written as CMP tools"),
        ExportError::Inexpressible { problems, .. } => {
            CommandFailure::request("NOT_EXPORTABLE", message)
                .hint("move what is named into a script, and let the action run that")
                .with_data(json!({ "problems": problems }))
        }
    }
}

/// The largest file of examples.
const MAX_EXAMPLE_BYTES: u64 = 1 << 20;

/// The examples of a tool that is in the format already. Its other files say nothing of them.
fn examples_of(definition: &Definition) -> Result<Option<String>, CommandFailure> {
    if definition.source.layer != SourceLayer::Cmp {
        return Ok(None);
    }
    let path = definition.source.path.with_file_name(EXAMPLES);
    let failed = |error: io::Error| CommandFailure::file("read", &path, &error);
    match fs::metadata(&path) {
        Ok(known) if known.len() > MAX_EXAMPLE_BYTES => {
            Err(failed(io::Error::other("it is larger than 1 MiB")))
        }
        Ok(_) => fs::read_to_string(&path).map(Some).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

const EXAMPLES: &str = "examples.json";

/// Writes all files or none. A new tool's folder appears whole.
fn write(
    folder: &Path,
    exported: &CmpExport,
    examples: Option<String>,
    force: bool,
) -> Result<(), CommandFailure> {
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    let mut texts = vec![
        ("manifest.json", pretty(&exported.manifest)),
        ("capability.json", pretty(&exported.capability)),
    ];
    texts.extend(examples.map(|text| (EXAMPLES, text)));
    let write_to = |place: &Path| {
        texts.iter().try_for_each(|(name, text)| {
            replace_file(&place.join(name), text.as_bytes())
                .map_err(|error| CommandFailure::request("FILE_ERROR", error.to_string()))
        })
    };
    let place = folder.join("cmp");
    if fs::symlink_metadata(&place).is_err() {
        let failed = |error: io::Error| CommandFailure::file("write", &place, &error);
        fs::create_dir_all(folder)
            .map_err(|error| CommandFailure::file("make the folder", folder, &error))?;
        let staged =
            tempfile::Builder::new().prefix(".capdeck-").tempdir_in(folder).map_err(failed)?;
        let inner = staged.path().join("cmp");
        fs::create_dir(&inner).map_err(failed)?;
        write_to(&inner)?;
        return fs::rename(&inner, &place).map_err(failed);
    }
    for (name, text) in &texts {
        let path = place.join(name);
        match fs::read(&path) {
            Ok(known) if known != text.as_bytes() && !force => {
                let message =
                    format!("`{}` is already there and says something else", path.display());
                return Err(CommandFailure::request("FILE_EXISTS", message)
                    .hint("choose another folder, or replace it with --force"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(CommandFailure::file("read", &path, &error)),
        }
    }
    write_to(&place)
}
