//! Edits of other people's files, from outside.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod connect;
mod edit_json;
mod edit_toml;
mod edit_yaml;
mod generated;
mod golden;
mod properties;

use capdeck_install::{ConfigDocument, FileFormat};

/// Makes an edit and returns the new text.
fn edited(
    text: &str,
    format: FileFormat,
    edit: impl Fn(&mut ConfigDocument) -> Result<(), capdeck_install::EditError>,
) -> String {
    let mut document = ConfigDocument::parse(text, format).unwrap();
    edit(&mut document).unwrap();
    document.text()
}
