//! `capdeck capsule read`, `diff`, `restore` and `rm`: one entry, or the whole capsule.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_host::{
    DeleteCapsuleRequest, DeleteRequest, DeletedRequest, DiffRequest, PurgeCapsuleRequest,
    PurgeRequest, ReadBlobRequest, ReadBody, ReadRequest, RestoreRequest,
};

use super::{CapsuleEntryArgs, display::written_line};
use crate::{
    capsule_client::{ask, ask_and_show, with_capsules},
    commands::CommandContext,
    completion::{capsules, entries},
    errors::{CommandFailure, CommandResult},
    plain_text::lines,
    printer::{ColorPalette, TextStyle},
};

/// Print an entry
///
/// Its content is between two bands that say how to treat it and where it came from, as agents get it. With --raw only the
/// content is printed, exactly as it was written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule read team docs://architecture
  capdeck capsule read team docs://architecture --raw > architecture.md
  capdeck capsule read team docs://architecture --version 2")]
pub(crate) struct CapsuleReadArgs {
    #[command(flatten)]
    entry: CapsuleEntryArgs,
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

pub(super) fn read(args: &CapsuleReadArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleReadArgs { entry: CapsuleEntryArgs { name, uri }, version, raw, blob } = args;
    let (uri, version) = (uri.clone(), *version);
    if *blob {
        let response = ask(context, Some(name), ReadBlobRequest { uri, version })?;
        let bytes = STANDARD
            .decode(&response.data)
            .map_err(|error| CommandFailure::bug(format!("the blob cannot be decoded: {error}")))?;
        return context.printer.json_or(&response, || context.printer.bytes(&bytes));
    }
    let request = ReadRequest { uri, version, body: ReadBody::Banded };
    ask_and_show(context, Some(name), request, |entry, printer| match raw {
        true => printer.bytes(entry.body.as_deref().unwrap_or_default().as_bytes()),
        false => printer.foreign(entry.text.as_deref().unwrap_or_default()),
    })
}

/// Show what changed between two versions of an entry
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleDiffArgs {
    #[command(flatten)]
    entry: CapsuleEntryArgs,
    /// The older version; the one before the current one by default.
    #[arg(value_name = "FROM")]
    from: Option<u64>,
    /// The newer version; the current one by default.
    #[arg(value_name = "TO")]
    to: Option<u64>,
}

pub(super) fn diff(args: &CapsuleDiffArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleDiffArgs { entry: CapsuleEntryArgs { name, uri }, from, to } = args;
    let answer = with_capsules(context, async |capsules| {
        let from = match from {
            Some(from) => *from,
            None => {
                let (uri, body) = (uri.clone(), ReadBody::Meta);
                let read = ReadRequest { uri, version: None, body };
                capsules.ask(Some(name), read).await?.info.version.saturating_sub(1)
            }
        };
        if from == 0 {
            let message = format!("`{uri}` has one version only");
            return Err(CommandFailure::request("NOTHING_TO_COMPARE", message)
                .hint(format!("read it with: capdeck capsule read {name} {uri}")));
        }
        capsules.ask(Some(name), DiffRequest { uri: uri.clone(), from, to: *to }).await
    })?;
    let printer = context.printer;
    printer.json_or(&answer, || match (answer.diff.as_str(), printer.palette) {
        ("", _) => printer.note("they say the same"),
        (diff, ColorPalette::Plain) => printer.data(diff),
        (diff, colored) => {
            let styles = [('+', TextStyle::Good), ('-', TextStyle::Bad), ('@', TextStyle::Dim)];
            printer.data(&colored.paint_diff(&lines(diff), &styles));
        }
    })
}

/// Write an old version again, as a new one
///
/// Brings back what was deleted, too; then the last version is taken if none is named.
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleRestoreArgs {
    #[command(flatten)]
    entry: CapsuleEntryArgs,
    /// The version to write again.
    #[arg(value_name = "VERSION")]
    version: Option<u64>,
    /// Only when this is the current version; 0: only when there is none.
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
}

pub(super) fn restore(args: &CapsuleRestoreArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleRestoreArgs { entry: CapsuleEntryArgs { name, uri }, version, if_version } = args;
    let answer = with_capsules(context, async |capsules| {
        let version = match version {
            Some(version) => *version,
            None => {
                let deleted = capsules.ask(Some(name), DeletedRequest).await?;
                let found = deleted.deleted.iter().find(|entry| entry.uri.as_str() == uri);
                found.map(|entry| entry.version).ok_or_else(|| {
                    CommandFailure::usage(format!(
                        "`{uri}` is not deleted; say which version to write again"
                    ))
                    .hint(format!("see them with: capdeck capsule history {name} {uri}"))
                })?
            }
        };
        let (uri, if_version) = (uri.clone(), *if_version);
        capsules.ask(Some(name), RestoreRequest { uri, version, if_version }).await
    })?;
    context.printer.answer(&answer, &written_line("restored as", &answer.outcome))
}

/// Delete an entry, or a whole capsule
///
/// A deleted entry can be restored, until it is purged. A deleted capsule is moved to `deleted` in the data folder; its
/// owner, grants and shares end with it, and a later capsule of the same name has none of them. Purged, also later by its
/// id, it is gone for good.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule rm team notes://old
  capdeck capsule rm team notes://leaked-key --purge --yes
  capdeck capsule rm team --yes
  capdeck capsule rm team --purge --yes")]
pub(crate) struct CapsuleRmArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry; without it the whole capsule is deleted.
    #[arg(value_name = "URI", add = entries())]
    uri: Option<String>,
    /// Delete every version, too. It cannot be restored.
    #[arg(long)]
    purge: bool,
    /// Only when this is the current version.
    #[arg(long, value_name = "N", requires = "uri", conflicts_with = "purge")]
    if_version: Option<u64>,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn rm(args: &CapsuleRmArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleRmArgs { name, uri, purge, if_version, yes } = args;
    let question = match (uri, purge) {
        (Some(uri), true) => Some(format!("Take `{uri}` away with all its versions, for good?")),
        (Some(_), false) => None,
        (None, true) => {
            Some(format!("Remove the capsule `{name}` for good, with all it ever held?"))
        }
        (None, false) => Some(format!("Delete the capsule `{name}` with all its entries?")),
    };
    if let Some(question) = question.filter(|_| !yes) {
        let refused = || CommandFailure::usage("confirmation required").hint("pass --yes");
        context.printer.require(&question, refused, "nothing was deleted")?;
    }
    let capsule = Some(name.as_str());
    match (uri.clone(), purge) {
        (None, true) => ask_and_show(context, capsule, PurgeCapsuleRequest, |purged, printer| {
            printer.note(&format!("purged the capsule {}", purged.id()));
        }),
        (None, false) => ask_and_show(context, capsule, DeleteCapsuleRequest, |gone, printer| {
            printer.note(&format!("deleted the capsule {}", gone.id));
        }),
        (Some(uri), true) => {
            let note = format!("purged {uri}");
            ask_and_show(context, capsule, PurgeRequest { uri }, |_, printer| printer.note(&note))
        }
        (Some(uri), false) => {
            let delete = DeleteRequest { uri: uri.clone(), if_version: *if_version };
            ask_and_show(context, capsule, delete, |deleted, printer| {
                let version = deleted.entry.version;
                printer.note(&format!("deleted {uri}, which was in version {version}"));
                printer.note(&format!("bring it back with: capdeck capsule restore {name} {uri}"));
            })
        }
    }
}
