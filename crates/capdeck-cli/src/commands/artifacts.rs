//! `capdeck artifacts`: large results that were kept as files.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use capdeck_host::{
    ArtifactReader, Session, StoredArtifact, artifact_created, artifact_item, artifacts,
};
use serde_json::{Value, json};

use super::command_table;
use crate::{
    commands::CommandContext,
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::counted,
    runtime::with_operator,
    table::{TextTable, cell, cell_or},
};

command_table! {
    /// List, read and remove large results that were stored as files
    ///
    /// A result too large or too binary to send inline is stored as a file and named by a URI. Old ones are removed by
    /// age and by total size.
    pub(crate) enum ArtifactsCommand default List {
        List(ArtifactListArgs) => list,
        Read(ArtifactReadArgs) => read,
        Delete(ArtifactDeleteArgs) => delete,
        Prune(ArtifactPruneArgs) => prune,
    }
}

/// `1.2 MiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if tenths < 10_240 {
            break;
        }
        (tenths, unit) = (tenths / 1024, larger);
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// Show stored large results, the newest first
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ArtifactListArgs {
    /// Only those of this capability.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
}

fn list(args: &ArtifactListArgs, context: &CommandContext<'_>) -> CommandResult {
    let ArtifactListArgs { id } = args;
    let wanted = |one: &StoredArtifact| id.as_ref().is_none_or(|id| one.capability.as_str() == id);
    let session = context.open_host()?.operator();
    let found: Vec<StoredArtifact> =
        artifacts::list(&session.snapshot()).into_iter().filter(wanted).collect();
    let printer = context.printer;
    let items: Vec<Value> = found.iter().map(artifact_item).collect();
    printer.json_or(&json!({ "items": items }), || {
        let table = TextTable::new(["CREATED", "SIZE", "URI", "TYPE"], &found, |one| {
            let artifact = &one.artifact;
            [
                cell(artifact_created(one)),
                cell(size(artifact.byte_length)),
                cell(&artifact.uri),
                cell_or("-", artifact.mime_type.as_ref()),
            ]
        });
        table.print_or("no stored large results", printer);
    })
}

/// How much is in memory at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// Write a large result, or a part of it, to stdout or to a file
///
/// A URI may also name a place in a JSON document, as results that were cut for an agent do: `?at=/items&from=20`.
///
/// With --json the answer is what a client gets that reads the resource: at most 1 MiB, text as text and the rest in base64.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck artifacts read capdeck://artifacts/reports/0190b5/all.csv -o all.csv
  capdeck artifacts read capdeck://artifacts/reports/0190b5/all.csv --offset 1048576 --length 4096")]
pub(crate) struct ArtifactReadArgs {
    /// The URI that the result named.
    #[arg(value_name = "URI")]
    uri: String,
    /// Start at this byte.
    #[arg(long, value_name = "BYTES")]
    offset: Option<u64>,
    /// Read this many bytes at most.
    #[arg(long, value_name = "BYTES")]
    length: Option<u64>,
    /// Write to this file, replacing it.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn read(args: &ArtifactReadArgs, context: &CommandContext<'_>) -> CommandResult {
    let ArtifactReadArgs { uri, offset, length, output } = args;
    if uri.contains('?') && (offset.is_some() || length.is_some()) {
        return Err(CommandFailure::usage(
            "the URI names a part already; leave out --offset and --length",
        ));
    }
    let uri = match (offset, length) {
        (None, None) => uri.clone(),
        (offset, None) => format!("{uri}?offset={}", offset.unwrap_or(0)),
        (offset, Some(length)) => format!("{uri}?offset={}&length={length}", offset.unwrap_or(0)),
    };
    if output.is_some() && names_place(&uri) {
        return Err(CommandFailure::usage(
            "a place in a document goes to stdout; leave out --output",
        ));
    }
    let printer = context.printer;
    let length = part_length(&uri);
    with_operator(context, async |session, _| match output {
        Some(file) => to_file(session, &uri, length, file, context).await,
        None if printer.wants_json() || names_place(&uri) => {
            let read = artifacts::read(&session.snapshot(), &uri).await?;
            let read: Value = serde_json::from_str(read.get()).unwrap_or_default();
            let content = &read["contents"][0];
            printer.json_or(content, || {
                printer.data(content["text"].as_str().unwrap_or_default());
                if let Some(next) = content["_meta"]["capdeck/artifact"]["next"].as_str() {
                    printer.note(&format!("there is more: {next}"));
                }
            })
        }
        None => to_stdout(session, &uri, length, context).await,
    })
}

fn query_members(uri: &str) -> impl Iterator<Item = &str> {
    uri.split_once('?').map_or("", |(_, query)| query).split('&')
}

/// True for a URI that names items or characters rather than bytes.
fn names_place(uri: &str) -> bool {
    let is_place =
        |member: &str| ["at=", "from=", "count="].iter().any(|key| member.starts_with(key));
    query_members(uri).any(is_place)
}

/// The length that a URI asks for. One that is no number is refused when the artifact is opened.
fn part_length(uri: &str) -> u64 {
    let asked = query_members(uri).find_map(|member| member.strip_prefix("length="));
    asked.and_then(|length| length.parse().ok()).unwrap_or(u64::MAX)
}

async fn to_stdout(
    session: &Session,
    uri: &str,
    length: u64,
    context: &CommandContext<'_>,
) -> CommandResult {
    let mut reader = artifacts::open(&session.snapshot(), uri).await?;
    let printer = context.printer;
    let mut is_first = true;
    copy(&mut reader, length, |chunk| {
        if is_first && printer.stdout_is_terminal && chunk.contains(&0) {
            return Err(CommandFailure::request("BINARY_OUTPUT", "this is no text")
                .hint("write it to a file with -o FILE"));
        }
        is_first = false;
        printer.bytes(chunk);
        Ok(())
    })?;
    Ok(ExitStatus::Done)
}

async fn to_file(
    session: &Session,
    uri: &str,
    length: u64,
    path: &Path,
    context: &CommandContext<'_>,
) -> CommandResult {
    let mut reader = artifacts::open(&session.snapshot(), uri).await?;
    let facts = reader.artifact().clone();
    let failed = |error: std::io::Error| CommandFailure::file("write", path, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(".capdeck-")
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    let written = copy(&mut reader, length, |chunk| file.write_all(chunk).map_err(failed))?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    let mut answer = json!(facts);
    answer["file"] = json!(path);
    answer["writtenBytes"] = json!(written);
    let note = format!("{written} bytes written to {}", path.display());
    context.printer.answer(&answer, &note)
}

/// Gives an artifact to `write` in chunks, up to a length. Returns how many bytes there were.
fn copy(
    reader: &mut ArtifactReader,
    length: u64,
    mut write: impl FnMut(&[u8]) -> Result<(), CommandFailure>,
) -> Result<u64, CommandFailure> {
    let mut done = 0;
    loop {
        let chunk = reader
            .next(CHUNK_BYTES.min(length - done))
            .map_err(|error| CommandFailure::request("ARTIFACT_UNREADABLE", error.to_string()))?;
        if chunk.is_empty() {
            return Ok(done);
        }
        done += chunk.len() as u64;
        write(&chunk)?;
    }
}

/// Remove large results by name
#[derive(Debug, clap::Args)]
pub(crate) struct ArtifactDeleteArgs {
    /// The URIs; see: capdeck artifacts list
    #[arg(value_name = "URI", required = true)]
    uris: Vec<String>,
}

fn delete(args: &ArtifactDeleteArgs, context: &CommandContext<'_>) -> CommandResult {
    let session = context.open_host()?.operator();
    for uri in &args.uris {
        artifacts::delete(&session.snapshot(), uri)?;
    }
    let note = format!("{} removed", counted(args.uris.len(), "artifact", "artifacts"));
    context.printer.answer(&json!({ "deleted": args.uris }), &note)
}

/// Remove large results that are too old or over the size limit
///
/// This happens by itself at each start and every hour. The limits are `artifacts` in your config: `maxAgeDays` (7) and
/// `maxMegabytes` (1024). What was made in the last ten minutes and what is being written or read stays.
#[derive(Debug, clap::Args)]
pub(crate) struct ArtifactPruneArgs {
    /// Remove everything that is not being written or read.
    #[arg(long)]
    all: bool,
}

fn prune(args: &ArtifactPruneArgs, context: &CommandContext<'_>) -> CommandResult {
    let host = context.open_host()?;
    let swept = if args.all { host.artifacts().clear() } else { host.artifacts().prune() };
    context.printer.answer(
        &json!({
            "removed": swept.removed,
            "removedBytes": swept.removed_bytes,
            "kept": swept.kept,
            "keptBytes": swept.kept_bytes,
        }),
        &format!(
            "{} removed ({}); {} kept ({})",
            counted(swept.removed, "artifact", "artifacts"),
            size(swept.removed_bytes),
            swept.kept,
            size(swept.kept_bytes),
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1.0 MiB"),
            (100 << 20, "100.0 MiB"),
            (3 << 40, "3.0 TiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
