//! `capdeck capsule read NAME URI`: an entry, fenced by what is known about it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_host::{ReadBlobRequest, ReadBody, ReadRequest};

use crate::{
    capsule_client::ask,
    completion::{capsules, entries},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    plain_text::lines,
};

/// Print an entry
///
/// Its content stands between two bands that say how to take it and where it came from, as agents get it. With --raw only the
/// content is printed, exactly as it was written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule read team docs://architecture
  capdeck capsule read team docs://architecture --raw > architecture.md
  capdeck capsule read team docs://architecture --version 2")]
pub(crate) struct CapsuleReadArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: String,
    /// An older version.
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Only the content, for a program.
    #[arg(long)]
    raw: bool,
    /// The bytes that are attached to it instead of its content.
    #[arg(long, conflicts_with = "raw")]
    blob: bool,
}

pub(crate) fn run(
    args: &CapsuleReadArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleReadArgs { name, uri, version, raw, blob } = args;
    let (uri, version) = (uri.clone(), *version);
    let printer = context.printer;
    if *blob {
        let response = ask(context, Some(name), ReadBlobRequest { uri, version })?;
        if printer.wants_json() {
            printer.json(&response);
            return Ok(ExitStatus::Done);
        }
        let bytes = STANDARD
            .decode(response.data)
            .map_err(|error| CommandFailure::bug(format!("the blob cannot be decoded: {error}")))?;
        printer.bytes(&bytes);
        return Ok(ExitStatus::Done);
    }
    let entry = ask(context, Some(name), ReadRequest { uri, version, body: ReadBody::Banded })?;
    if printer.wants_json() {
        printer.json(&entry);
    } else if *raw {
        printer.bytes(entry.body.unwrap_or_default().as_bytes());
    } else if printer.stdout_is_terminal() {
        // What strangers wrote must not move the cursor.
        printer.data(&lines(&entry.text.unwrap_or_default()));
    } else {
        printer.data(&entry.text.unwrap_or_default());
    }
    Ok(ExitStatus::Done)
}
