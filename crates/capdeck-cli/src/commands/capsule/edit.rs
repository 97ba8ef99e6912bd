//! `capdeck capsule edit NAME URI`: an entry in an editor, with no change lost.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use capdeck_host::{
    CapsuleError, CapsuleErrorCode, ErrorDetails, ReadBody, ReadRequest, ReadResponse, WriteMode,
    WriteRequest, WriteResponse,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

use super::{CapsuleEntryArgs, display::written_line};
use crate::{
    capsule_client::{into_failure, with_capsules},
    commands::CommandContext,
    errors::{CommandFailure, CommandResult},
    runtime::single_thread,
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

pub(super) fn run(args: &CapsuleEditArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleEntryArgs { name, uri } = &args.entry;
    let printer = context.printer;
    let opened = open(name, uri, context)?;
    let (mime_type, body) = match &opened {
        Some(entry) => (entry.mime_type.as_str(), entry.body.as_deref().unwrap_or_default()),
        None => ("", ""),
    };
    let draft = EditorFile::new(uri, mime_type, body)?;
    // The version that the text is a change of; 0 when there is no entry.
    let mut version = opened.as_ref().map_or(0, |entry| entry.info.version);
    // The merge that is being looked at, and the places in it to decide.
    let mut merge: Option<(String, usize)> = None;
    loop {
        // The capsules are free while the editor is open.
        let typed = match (draft.edit(context)?, merge.take()) {
            (Some(typed), _) => typed,
            (None, Some((merged, 0))) => merged,
            (None, Some(_)) => {
                let hint = format!("your text is in {}", draft.beside("yours").display());
                return Err(
                    CommandFailure::request("CANCELLED", "the merge was left undecided").hint(hint)
                );
            }
            (None, None) => {
                draft.discard();
                let unchanged = json!({ "uri": uri, "version": version, "unchanged": true });
                return printer.answer(&unchanged, "unchanged: nothing was written");
            }
        };
        let error = match write(name, uri, &typed, version, context)? {
            Ok(answer) => {
                draft.discard();
                let done = if opened.is_none() { "created" } else { "wrote" };
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

/// The failure where no question can be asked, with the merge beside the kept text.
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

fn open(
    name: &str,
    uri: &str,
    context: &CommandContext<'_>,
) -> Result<Option<ReadResponse>, CommandFailure> {
    with_capsules(context, async |capsules| {
        let read = ReadRequest { uri: uri.to_owned(), version: None, body: ReadBody::Banded };
        match capsules.try_ask(Some(name), read).await {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.code == CapsuleErrorCode::NotFound => Ok(None),
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

/// What people get who named no editor.
const FALLBACK: &str = "vi";

/// The text being edited. It stays on the disk until it is discarded.
struct EditorFile {
    folder: PathBuf,
    file: PathBuf,
}

impl EditorFile {
    fn new(uri: &str, mime_type: &str, text: &str) -> Result<Self, CommandFailure> {
        let failed = |error: std::io::Error| {
            CommandFailure::request("FILE_ERROR", format!("cannot make a file to edit: {error}"))
        };
        // The folder can be entered by its owner alone.
        let folder: TempDir = tempfile::Builder::new()
            .prefix("capdeck-edit-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(failed)?;
        let name = uri.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("entry");
        let safe: String = name
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' }
            })
            .collect();
        let ending = match mime_type {
            "application/json" => "json",
            "text/plain" => "txt",
            _ => "md",
        };
        let draft = Self {
            file: folder.path().join(format!("{safe}.{ending}")),
            // If this process ends early, what was typed is not lost.
            folder: folder.keep(),
        };
        draft.replace(text)?;
        Ok(draft)
    }

    /// Opens the editor and waits for it. Gives the text if it was changed.
    fn edit(&self, context: &CommandContext<'_>) -> Result<Option<String>, CommandFailure> {
        let before = self.read()?;
        let editor = context.env.editor.as_deref().unwrap_or(FALLBACK);
        // Editors are command lines, such as `code --wait`.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(&self.file);
        if !context.printer.stdout_is_terminal {
            // Stdout is data; what an editor shows is for people.
            command.stdout(Stdio::from(std::io::stderr()));
        }
        let status = single_thread()?.block_on(async {
            // Ctrl-C is the editor's while it is open.
            let _heard = signal(SignalKind::interrupt());
            tokio::process::Command::from(command).status().await
        });
        let reason = match status {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let after = self.read()?;
        let is_same = after == before;
        if let Some(reason) = reason {
            let failure = CommandFailure::request(
                "EDITOR_FAILED",
                format!("the editor `{editor}` failed, and nothing was written: {reason}"),
            );
            if is_same {
                self.discard();
                return Err(failure.hint("set VISUAL or EDITOR to the editor you use"));
            }
            return Err(failure.hint(format!("your text is in {}", self.file.display())));
        }
        Ok((!is_same).then_some(after))
    }

    /// Puts another text in its place.
    fn replace(&self, text: &str) -> Result<(), CommandFailure> {
        save(&self.file, text)
    }

    /// Keeps a text beside the one that may be edited next; returns where.
    fn keep(&self, word: &str, text: &str) -> Result<PathBuf, CommandFailure> {
        let path = self.beside(word);
        save(&path, text)?;
        Ok(path)
    }

    /// Nothing of it is needed any more.
    fn discard(&self) {
        // A file that stays in a private folder does no harm.
        fs::remove_dir_all(&self.folder).ok();
    }

    /// Where the text of this name is kept: `yours`, or `merged`.
    fn beside(&self, word: &str) -> PathBuf {
        let ending = self.file.extension().unwrap_or_default().to_string_lossy().into_owned();
        self.file.with_extension(format!("{word}.{ending}"))
    }

    fn read(&self) -> Result<String, CommandFailure> {
        let bytes = fs::read(&self.file).map_err(|error| {
            CommandFailure::file("read", &self.file, &error)
                .hint("leave the file in its place when you save")
        })?;
        String::from_utf8(bytes).map_err(|_| {
            CommandFailure::request("FILE_ERROR", "what was saved is not UTF-8 text")
                .hint(format!("your text is in {}", self.file.display()))
        })
    }
}

fn save(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| CommandFailure::file("write", path, &error))
}
