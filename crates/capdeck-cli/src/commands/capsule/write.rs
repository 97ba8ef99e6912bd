//! `capdeck capsule write NAME URI [FILE|-]`: writes an entry.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_host::{
    ErrorDetails, PatchStep, RiskClass, WriteBlob, WriteConflict, WriteMode, WriteRequest,
};

use super::{
    CapsuleEntryArgs,
    display::{RISK_CLASSES, written_line},
};
use crate::{
    args::choice,
    arguments::ArgumentSource,
    capsule_client::{into_failure, with_capsules},
    commands::CommandContext,
    errors::{CommandFailure, CommandResult},
    plain_text::lines,
};

/// Longer input is refused by every capsule; the capsule itself says what its limit is.
const MAX_READ: u64 = 64 << 20;

/// Write an entry, new or in a new version
///
/// The content comes from a file or from stdin. With --if-version, a write that would overwrite another change is
/// refused with exit code 4, and both changes are shown merged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule write team docs://architecture ARCHITECTURE.md
  git log -20 | capdeck capsule write team notes://recent-work -
  capdeck capsule write team docs://api --if-version 3 api.md
  capdeck capsule write team notes://log --append 'deployed at noon'
  capdeck capsule write team docs://api --patch '[{\"op\":\"replace\",\"find\":\"v1\",\"with\":\"v2\"}]'")]
pub(crate) struct CapsuleWriteArgs {
    #[command(flatten)]
    entry: CapsuleEntryArgs,
    /// The file with the content, or `-` for stdin, which is read when there is none.
    #[arg(value_name = "FILE", conflicts_with_all = ["patch", "append"])]
    file: Option<PathBuf>,
    /// Only when this is the current version; 0: only when there is no entry.
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
    /// Only a new entry.
    #[arg(long, conflicts_with_all = ["patch", "append", "if_version"])]
    new: bool,
    /// Changes instead of the whole content: a JSON list of steps with `op` replace, append or section; @FILE or `-` to read it.
    #[arg(long, value_name = "JSON", conflicts_with = "append")]
    patch: Option<String>,
    /// A text to add at the end.
    #[arg(long, value_name = "TEXT")]
    append: Option<String>,
    /// The title; an empty text removes it.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A tag, in place of those it has. Can be repeated.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// How readers should take it; guessed from the content by default.
    #[arg(long, value_name = "CLASS", value_parser = choice(RISK_CLASSES))]
    risk_class: Option<RiskClass>,
    /// A file it is about, besides those found in the content. Can be repeated.
    #[arg(long = "anchor", value_name = "PATH")]
    anchors: Vec<String>,
    /// The commit it was written on; the one checked out in this project by default.
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// A file whose bytes are attached to the entry.
    #[arg(long, value_name = "FILE")]
    blob: Option<PathBuf>,
    /// What the attached bytes are.
    #[arg(
        long,
        value_name = "TYPE",
        requires = "blob",
        default_value = "application/octet-stream"
    )]
    mime: String,
    /// Remove the attached bytes.
    #[arg(long, conflicts_with = "blob")]
    no_blob: bool,
}

pub(super) fn run(args: &CapsuleWriteArgs, context: &CommandContext<'_>) -> CommandResult {
    let write = resolve(args)?;
    let name = args.entry.name.as_str();
    let written =
        with_capsules(context, async |capsules| Ok(capsules.try_ask(Some(name), write).await))?;
    let written = written.map_err(|error| match error.details.clone() {
        Some(ErrorDetails::Conflict(conflict)) => {
            with_merge(into_failure(error, Some(name)), &conflict, name)
        }
        _ => into_failure(error, Some(name)),
    })?;
    let done = if written.outcome.created { "created" } else { "wrote" };
    context.printer.answer(&written, &written_line(done, &written.outcome))
}

fn resolve(args: &CapsuleWriteArgs) -> Result<WriteRequest, CommandFailure> {
    let CapsuleWriteArgs { file, new, patch, append, tags, blob, .. } = args;
    let steps = match (patch, append) {
        (Some(typed), _) => Some(steps(typed)?),
        (None, Some(text)) => Some(vec![PatchStep::Append { text: text.clone() }]),
        (None, None) => None,
    };
    let (mode, content) = match (&steps, new) {
        (Some(_), _) => (WriteMode::Patch, None),
        (None, true) => (WriteMode::Create, Some(content(file.as_deref())?)),
        (None, false) => (WriteMode::Replace, Some(content(file.as_deref())?)),
    };
    let blob = match blob {
        Some(path) => {
            let data = STANDARD.encode(bytes_of(path)?);
            Some(WriteBlob::Bytes { data, mime: args.mime.clone() })
        }
        None => args.no_blob.then_some(WriteBlob::Remove),
    };
    Ok(WriteRequest {
        uri: args.entry.uri.clone(),
        mode: Some(mode),
        content,
        patch: steps,
        title: args.title.clone(),
        tags: (!tags.is_empty()).then(|| tags.clone()),
        risk_class: args.risk_class,
        file_anchors: args.anchors.clone(),
        commit: args.commit.clone(),
        if_version: args.if_version,
        idempotency_key: None,
        blob,
    })
}

/// A conflict with both changes merged under it, and how to go on.
fn with_merge(
    mut failure: CommandFailure,
    conflict: &WriteConflict,
    capsule: &str,
) -> CommandFailure {
    let WriteConflict { uri, expected_version: expected, current_version: current, proposal } =
        conflict;
    failure.message = match (expected, current) {
        (_, 0) => format!("`{uri}` no longer exists, and version {expected} was expected"),
        (0, _) => format!("`{uri}` is there already, in version {current}"),
        _ => format!("`{uri}` is in version {current}, not {expected}: it was written meanwhile"),
    };
    failure.said = proposal.as_ref().map(|proposal| {
        let open = match proposal.conflicts {
            0 => "both changes fit together:".to_owned(),
            1 => "both changes, with 1 place to decide:".to_owned(),
            count => format!("both changes, with {count} places to decide:"),
        };
        format!("{open}\n{}", lines(&proposal.text))
    });
    failure.hint(format!(
        "merge, then write with: capdeck capsule write {capsule} {uri} --if-version {current} FILE"
    ))
}

fn steps(typed: &str) -> Result<Vec<PatchStep>, CommandFailure> {
    // A JSON list begins with a bracket, so `@FILE` and `-` cannot be meant by one.
    let text = ArgumentSource::default().text("--patch", typed)?;
    serde_json::from_str(&text).map_err(|error| {
        CommandFailure::usage(format!("--patch: these are no steps: {error}")).hint(
            r#"write them as [{"op":"replace","find":"…","with":"…"}, {"op":"append","text":"…"}, {"op":"section","heading":"…","text":"…"}]"#,
        )
    })
}

/// The text of a file or of stdin.
fn content(file: Option<&Path>) -> Result<String, CommandFailure> {
    let nothing = || {
        CommandFailure::usage("there is no content").hint(
            "name a file, or `-` for stdin; to type it in an editor use: capdeck capsule edit",
        )
    };
    let bytes = match file {
        Some(path) if path != Path::new("-") => bytes_of(path)?,
        Some(_) => bytes_of_stdin()?,
        None if io::stdin().is_terminal() => return Err(nothing()),
        None => bytes_of_stdin()?,
    };
    // A command that was started without stdin must not empty an entry.
    if file.is_none() && bytes.is_empty() {
        return Err(nothing());
    }
    String::from_utf8(bytes).map_err(|_| {
        CommandFailure::usage("the content is not UTF-8 text")
            .hint("attach other bytes with --blob")
    })
}

fn bytes_of_stdin() -> Result<Vec<u8>, CommandFailure> {
    limited(io::stdin().lock()).map_err(|error| {
        CommandFailure::request("FILE_ERROR", format!("cannot read stdin: {error}"))
    })
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    let read = File::open(path).and_then(limited);
    read.map_err(|error| CommandFailure::file("read", path, &error))
}

fn limited(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_READ + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_READ {
        return Err(io::Error::other(format!("it has more than {} MiB", MAX_READ >> 20)));
    }
    Ok(bytes)
}
