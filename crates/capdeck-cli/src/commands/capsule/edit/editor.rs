//! A text in a file that only its owner can read, opened in the person's editor.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

use crate::{context::CommandContext, errors::CommandFailure, runtime::single_thread};

/// What people get who named no editor.
const FALLBACK: &str = "vi";

/// The text being edited. It stays on the disk until it is discarded.
pub(super) struct EditorFile {
    folder: PathBuf,
    file: PathBuf,
}

/// How an editor left the text.
pub(super) enum EditorResult {
    Same,
    Changed(String),
}

impl EditorFile {
    pub(super) fn new(uri: &str, mime_type: &str, text: &str) -> Result<Self, CommandFailure> {
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
            // Whatever happens to this process, what was typed is not lost with it.
            folder: folder.keep(),
        };
        draft.replace(text)?;
        Ok(draft)
    }

    /// Opens the editor and waits for it.
    pub(super) fn edit(
        &self,
        context: &CommandContext<'_>,
    ) -> Result<EditorResult, CommandFailure> {
        let before = self.read()?;
        let editor = context.env.editor.as_deref().unwrap_or(FALLBACK);
        // Editors are command lines, such as `code --wait`.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(&self.file);
        if !context.printer.stdout_is_terminal() {
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
        Ok(if is_same { EditorResult::Same } else { EditorResult::Changed(after) })
    }

    /// Puts another text in its place.
    pub(super) fn replace(&self, text: &str) -> Result<(), CommandFailure> {
        save(&self.file, text)
    }

    /// Keeps a text beside the one that may be edited next; tells where.
    pub(super) fn keep(&self, word: &str, text: &str) -> Result<PathBuf, CommandFailure> {
        let path = self.beside(word);
        save(&path, text)?;
        Ok(path)
    }

    /// Nothing of it is needed any more.
    pub(super) fn discard(&self) {
        // A file that stays in a private folder harms nobody.
        fs::remove_dir_all(&self.folder).ok();
    }

    /// Where the text of this name is kept: `yours`, or `merged`.
    pub(super) fn beside(&self, word: &str) -> PathBuf {
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
