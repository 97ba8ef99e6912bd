//! Shows a diagnostic the way a compiler would: the place, the line, a caret, and what to do.

use std::{
    collections::HashMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use capdeck_definition::{Diagnostic, DiagnosticSeverity};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::{
    plain_text::one_line,
    printer::{ColorPalette, TextStyle},
};

/// No definition file is larger; a bigger one is not quoted.
const MAX_QUOTED_FILE_BYTES: u64 = 1 << 20;
/// A longer line is cut around the place in question.
const MAX_QUOTED_LINE: usize = 160;

/// Quotes files, each read once.
#[derive(Debug, Default)]
pub(crate) struct SourceFrames {
    texts: HashMap<PathBuf, Option<String>>,
}

impl SourceFrames {
    /// One diagnostic with its source line, when the line can be read.
    pub(crate) fn render(&mut self, diagnostic: &Diagnostic, palette: ColorPalette) -> String {
        let Diagnostic { file, line, column, severity, code, message, fix } = diagnostic;
        let label = match severity {
            DiagnosticSeverity::Error => palette.paint(TextStyle::Bad, &format!("error[{code}]")),
            DiagnosticSeverity::Warning => {
                palette.paint(TextStyle::Careful, &format!("warning[{code}]"))
            }
        };
        let mut text =
            format!("{label}: {}\n", palette.paint(TextStyle::Strong, &one_line(message)));
        let number = line.to_string();
        let margin = " ".repeat(if *line == 0 { 1 } else { number.len() });
        let place = match line {
            0 => file.display().to_string(),
            _ => format!("{}:{line}:{column}", file.display()),
        };
        text.push_str(&format!("{margin}{} {place}\n", palette.paint(TextStyle::Dim, "-->")));
        let bar = palette.paint(TextStyle::Dim, "|");
        if let Some(source) = self.line(file, *line) {
            let (shown, before, width) = quote(source, *column as usize);
            let caret = palette.paint(TextStyle::Careful, &"^".repeat(width));
            text.push_str(&format!("{margin} {bar}\n"));
            text.push_str(&format!("{} {bar} {shown}\n", palette.paint(TextStyle::Dim, &number)));
            text.push_str(&format!("{margin} {bar} {}{caret}\n", " ".repeat(before)));
        }
        if let Some(fix) = fix {
            let sign = palette.paint(TextStyle::Dim, "=");
            text.push_str(&format!("{margin} {sign} fix: {}\n", one_line(fix)));
        }
        text
    }

    fn line(&mut self, file: &Path, line: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let text = self.texts.entry(file.to_owned()).or_insert_with(|| read(file));
        text.as_deref()?.lines().nth(index)
    }
}

/// The line as shown, the columns before the caret, and the caret's width.
fn quote(line: &str, column: usize) -> (String, usize, usize) {
    let start = column.saturating_sub(1);
    // A long line starts shortly before the place, so that the place can be seen.
    let skip = if line.chars().count() > MAX_QUOTED_LINE { start.saturating_sub(40) } else { 0 };
    let visible: String = line.chars().skip(skip).take(MAX_QUOTED_LINE).collect();
    let before: String = visible.chars().take(start - skip).collect();
    let rest: Vec<char> = visible.chars().skip(start - skip).collect();
    let is_word = |letter: &&char| !letter.is_whitespace() && !":,]}".contains(**letter);
    let word: usize = rest.iter().take_while(is_word).filter_map(|letter| letter.width()).sum();
    (one_line(&visible), one_line(&before).width(), word.max(1))
}

/// Quoting is for people; a file that cannot be read is simply not quoted.
fn read(file: &Path) -> Option<String> {
    let mut text = String::new();
    let opened = fs::File::open(file).ok()?;
    if !opened.metadata().ok()?.is_file() {
        return None;
    }
    opened.take(MAX_QUOTED_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_word() {
        assert_eq!(quote("  comand: npx", 3), ("  comand: npx".to_owned(), 2, 6));
        assert_eq!(quote("\tkey: ü", 7), (" key: ü".to_owned(), 6, 1));
        assert_eq!(quote("short", 99), ("short".to_owned(), 5, 1));
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let line = format!("{}KEY: 1", "x".repeat(500));
        let (shown, before, width) = quote(&line, 501);
        assert_eq!(
            (shown.as_str(), before, width),
            (format!("{}KEY: 1", "x".repeat(40)).as_str(), 40, 3)
        );
    }
}
