//! Shows a page to the person.

use std::process::{Command, Stdio};

use crate::printer::Printer;

/// Opens an address, without a shell in between, and says so when that is not possible.
pub(crate) fn open_browser(url: &str, printer: &Printer) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        printer.warn(&format!("no browser was opened: `{opener}`: {error}"));
    }
}
