//! Aligned columns, cut to the terminal's width when there is one.

use std::fmt::Display;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::{
    plain_text::one_line,
    printer::{ColorPalette, Printer, TextStyle},
};

/// Narrower than this a last column says nothing.
const MIN_LAST_COLUMN: usize = 20;

/// Rows of text under a heading.
#[derive(Debug)]
pub(crate) struct TextTable {
    heading: Vec<&'static str>,
    rows: Vec<Vec<TableCell>>,
}

/// One field of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableCell {
    text: String,
    style: Option<TextStyle>,
}

impl TextTable {
    pub(crate) fn new<T, const COLUMNS: usize>(
        heading: [&'static str; COLUMNS],
        items: impl IntoIterator<Item = T>,
        row: impl Fn(T) -> [TableCell; COLUMNS],
    ) -> Self {
        let rows = items.into_iter().map(|item| row(item).to_vec()).collect();
        Self { heading: heading.to_vec(), rows }
    }

    pub(crate) fn print(&self, printer: &Printer) {
        printer.data(&self.render(printer.palette, printer.width()));
    }

    /// The same; a table without rows is a note that says so.
    pub(crate) fn print_or(&self, nothing: &str, printer: &Printer) {
        if self.rows.is_empty() { printer.note(nothing) } else { self.print(printer) }
    }

    /// The table as text. Only the last column is cut, and only when a width is given.
    pub(crate) fn render(&self, palette: ColorPalette, width: Option<usize>) -> String {
        let widths: Vec<usize> = (0..self.heading.len()).map(|column| self.width(column)).collect();
        let last = widths.len().saturating_sub(1);
        let before: usize = widths.iter().take(last).map(|width| width + 2).sum();
        let room = width.map(|width| width.saturating_sub(before).max(MIN_LAST_COLUMN));
        let mut text = String::new();
        let heading = self.heading.iter().map(|title| styled(TextStyle::Dim, title)).collect();
        for cells in std::iter::once(&heading).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let shown = match room {
                    Some(room) if column == last => cut(&cell.text, room),
                    _ => cell.text.clone(),
                };
                let padding = match widths.get(column) {
                    Some(width) if column < last => width + 2 - shown.width(),
                    _ => 0,
                };
                line.push_str(&match cell.style {
                    Some(style) => palette.paint(style, &shown),
                    None => shown,
                });
                line.extend(std::iter::repeat_n(' ', padding));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let heading = self.heading.get(column).map_or(0, |title| title.width());
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.text.width()).max().unwrap_or(0).max(heading)
    }
}

/// A field in the usual colour.
pub(crate) fn cell(value: impl Display) -> TableCell {
    TableCell { text: one_line(&value.to_string()), style: None }
}

/// A field in the colour of its meaning.
pub(crate) fn styled(style: TextStyle, value: impl Display) -> TableCell {
    TableCell { style: Some(style), ..cell(value) }
}

/// A field that may be missing.
pub(crate) fn cell_or(missing: &str, value: Option<impl Display>) -> TableCell {
    value.map_or_else(|| cell(missing), cell)
}

/// The text in at most `room` columns.
fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > room {
            break;
        }
        shown.push(letter);
    }
    format!("{}…", shown.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let rows = [("machine", "Facts about this machine, read only"), ("日本", "x")];
        TextTable::new(["ID", "WHAT"], rows, |(id, what)| [cell(id), cell(what)])
    }

    #[test]
    fn columns_align_by_what_is_seen() {
        assert_eq!(
            table().render(ColorPalette::Plain, None),
            "ID       WHAT\nmachine  Facts about this machine, read only\n日本     x\n"
        );
    }

    #[test]
    fn the_last_column_gives_way_on_a_terminal() {
        assert_eq!(
            table().render(ColorPalette::Plain, Some(31)),
            "ID       WHAT\nmachine  Facts about this mach…\n日本     x\n"
        );
    }
}
