//! Shows a page to the person.

use std::process::{Command, Stdio};

use capdeck_auth::EnvironmentSnapshot;

use crate::printer::Printer;

/// What opens a page here.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens an address, without a shell in between, and says so when that is not possible.
pub(crate) fn open_browser(url: &str, printer: &Printer) {
    let started = Command::new(OPENER)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        printer.warn(&format!("no browser was opened: `{OPENER}`: {error}"));
    }
}

/// True when there is a screen that a browser could be shown on.
pub(crate) fn has_browser(environment: &EnvironmentSnapshot) -> bool {
    let is_set = |name| environment.get(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
