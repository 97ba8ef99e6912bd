//! `capdeck capsule edit NAME URI`: an entry in an editor, with nobody's change lost.

mod editor;

use capdeck_host::{
    CapsuleError, CapsuleErrorCode, ErrorDetails, ReadBody, ReadRequest, WriteMode, WriteRequest,
    WriteResponse,
};
use serde_json::{Value, json};

use self::editor::{EditorFile, EditorResult};
use super::{CapsuleEntryArgs, display::written_line};
use crate::{
    capsule_client::{into_failure, with_capsules},
    context::CommandContext,
    errors::{CommandFailure, CommandResult},
};

/// Edit an entry in your editor
///
/// Opens `$VISUAL` or `$EDITOR` on the content; an entry that is not there begins empty. When it is written meanwhile, your text
/// is kept, and both changes are offered merged.
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleEditArgs {
    #[command(flatten)]
    entry: CapsuleEntryArgs,
}

/// What is edited: the text, and the version it is a change of.
struct EntryText {
    body: String,
    /// 0 when there is no entry.
    version: u64,
    mime_type: String,
}

pub(super) fn run(args: &CapsuleEditArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleEntryArgs { name, uri } = &args.entry;
    let printer = context.printer;
    let opened = open(name, uri, context)?;
    let draft = EditorFile::new(uri, &opened.mime_type, &opened.body)?;
    let mut version = opened.version;
    // The merge that is being looked at, and the places in it that somebody must decide.
    let mut merge: Option<(String, usize)> = None;
    loop {
        // The capsules are free while the editor is open.
        let typed = match (draft.edit(context)?, merge.take()) {
            (EditorResult::Changed(typed), _) => typed,
            (EditorResult::Same, Some((merged, 0))) => merged,
            (EditorResult::Same, Some(_)) => {
                let hint = format!("your text is in {}", draft.beside("yours").display());
                return Err(
                    CommandFailure::request("CANCELLED", "the merge was left undecided").hint(hint)
                );
            }
            (EditorResult::Same, None) => {
                draft.discard();
                let unchanged = json!({ "uri": uri, "version": version, "unchanged": true });
                return printer.answer(&unchanged, "unchanged: nothing was written");
            }
        };
        let error = match write(name, uri, &typed, version, context)? {
            Ok(answer) => {
                draft.discard();
                let done = if opened.version == 0 { "created" } else { "wrote" };
                return printer.answer(&answer, &written_line(done, &answer.outcome));
            }
            Err(error) => error,
        };
        let kept = draft.keep("yours", &typed)?;
        let details = error.details.clone();
        let failure = into_failure(error, Some(name));
        let Some(ErrorDetails::Conflict(conflict)) = details else {
            let hint = format!(
                "your text is in {}; write it with: capdeck capsule write {name} {uri} --if-version {version} {}",
                kept.display(),
                kept.display()
            );
            return Err(failure.hint(hint));
        };
        let current = conflict.current_version;
        let (merged, open) = match conflict.proposal {
            Some(proposal) => (Some(proposal.text), proposal.conflicts),
            None => (None, 0),
        };
        printer.warn(&format!(
            "{uri} was written meanwhile: it is in version {current}, you began with {version}"
        ));
        printer.note(&format!("your text is in {}", kept.display()));
        let merged = match merged {
            Some(merged) if printer.can_ask() => merged,
            merged => return Err(conflicted(failure, name, uri, current, &draft, merged)?),
        };
        let question = match open {
            0 => {
                "Both changes fit together. Look at the merge in the editor, then write it?".into()
            }
            1 => "There is 1 place to decide. Open the merge in the editor?".to_owned(),
            count => format!("There are {count} places to decide. Open the merge in the editor?"),
        };
        if !printer.confirm(&question) {
            return Err(conflicted(failure, name, uri, current, &draft, Some(merged))?);
        }
        draft.replace(&merged)?;
        version = current;
        merge = Some((merged, open));
    }
}

/// The failure of somebody who is not asked, with the merge beside the kept text.
fn conflicted(
    mut failure: CommandFailure,
    name: &str,
    uri: &str,
    current: u64,
    draft: &EditorFile,
    merged: Option<String>,
) -> Result<CommandFailure, CommandFailure> {
    failure.message = format!("`{uri}` was written meanwhile and is in version {current}");
    let file = match merged {
        Some(merged) => draft.keep("merged", &merged)?,
        None => draft.beside("yours"),
    };
    let hint = format!(
        "decide in {}, then: capdeck capsule write {name} {uri} --if-version {current} {}",
        file.display(),
        file.display()
    );
    if let Some(details) = failure.details.as_mut().and_then(Value::as_object_mut) {
        details.insert("kept".to_owned(), json!(draft.beside("yours")));
        details.insert("merge".to_owned(), json!(file));
    }
    Ok(failure.hint(hint))
}

fn open(name: &str, uri: &str, context: &CommandContext<'_>) -> Result<EntryText, CommandFailure> {
    with_capsules(context, async |capsules| {
        let read = ReadRequest { uri: uri.to_owned(), version: None, body: ReadBody::Banded };
        match capsules.try_ask(Some(name), read).await {
            Ok(entry) => Ok(EntryText {
                body: entry.body.unwrap_or_default(),
                version: entry.info.version,
                mime_type: entry.mime_type,
            }),
            Err(error) if error.code == CapsuleErrorCode::NotFound => {
                Ok(EntryText { body: String::new(), version: 0, mime_type: String::new() })
            }
            Err(error) => Err(into_failure(error, Some(name))),
        }
    })
}

fn write(
    name: &str,
    uri: &str,
    body: &str,
    version: u64,
    context: &CommandContext<'_>,
) -> Result<Result<WriteResponse, CapsuleError>, CommandFailure> {
    let write = WriteRequest {
        uri: uri.to_owned(),
        mode: Some(WriteMode::Replace),
        content: Some(body.to_owned()),
        if_version: Some(version),
        ..WriteRequest::default()
    };
    with_capsules(context, async |capsules| Ok(capsules.try_ask(Some(name), write).await))
}
