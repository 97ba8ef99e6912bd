//! Aligned columns, cut to the terminal's width when there is one.

use std::fmt::Display;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::{
    plain_text::one_line,
    printer::{ColorPalette, Printer, TextStyle},
};

/// Narrower than this a last column says nothing.
const MIN_LAST_COLUMN: usize = 20;

/// Other columns are cut no further.
const MIN_COLUMN: usize = 8;

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

    /// The rows alone, for a table that goes on.
    pub(crate) fn print_rows(&self, printer: &Printer) {
        let text = self.render(printer.palette, printer.width());
        let rows = text.split_once('\n').map(|(_, rows)| rows).unwrap_or_default();
        printer.data(rows);
    }

    /// The same; a table without rows is a note that says so.
    pub(crate) fn print_or(&self, nothing: &str, printer: &Printer) {
        if self.rows.is_empty() { printer.note(nothing) } else { self.print(printer) }
    }

    /// The table as text. Columns are cut only when a width is given.
    pub(crate) fn render(&self, palette: ColorPalette, width: Option<usize>) -> String {
        let mut widths: Vec<usize> =
            (0..self.heading.len()).map(|column| self.width(column)).collect();
        if let Some(width) = width {
            fit(&mut widths, width);
        }
        let last = widths.len().saturating_sub(1);
        let mut text = String::new();
        let heading = self.heading.iter().map(|title| styled(TextStyle::Dim, title)).collect();
        for cells in std::iter::once(&heading).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let room = widths.get(column).copied().unwrap_or_default();
                let shown = cut(&cell.text, room);
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

    /// The columns that a column takes.
    fn width(&self, column: usize) -> usize {
        let heading = self.heading.get(column).map_or(0, |title| title.width());
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.text.width()).max().unwrap_or(0).max(heading)
    }
}

/// Narrows columns until they fit, with two spaces between them: the last one first, then the widest of the others. The first
/// one is what people copy, and goes last. In a terminal that is too narrow for all that, lines are longer than it.
fn fit(widths: &mut [usize], room: usize) {
    let Some(last) = widths.len().checked_sub(1) else { return };
    loop {
        let taken = widths.iter().sum::<usize>() + last * 2;
        let Some(excess) = taken.checked_sub(room).filter(|excess| *excess > 0) else { return };
        let others = (1..last).chain(widths.get(last).map(|_| 0));
        let widest = others
            .filter(|column| widths.get(*column).is_some_and(|width| *width > MIN_COLUMN))
            .max_by_key(|column| (*column != 0, widths.get(*column).copied()));
        let (column, least) = match (widths.get(last), widest) {
            (Some(width), _) if *width > MIN_LAST_COLUMN => (last, MIN_LAST_COLUMN),
            (_, Some(column)) => (column, MIN_COLUMN),
            (_, None) => return,
        };
        let Some(width) = widths.get_mut(column) else { return };
        *width = width.saturating_sub(excess).max(least);
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
    fn columns_fit_the_terminal_where_they_can() {
        let narrowed = |mut widths: Vec<usize>, room: usize| {
            fit(&mut widths, room);
            widths
        };
        assert_eq!(narrowed(vec![10, 20, 30], 64), [10, 20, 30], "all fits");
        assert_eq!(narrowed(vec![10, 20, 30], 60), [10, 20, 26], "the last one first");
        assert_eq!(narrowed(vec![10, 40, 12, 30], 66), [10, 18, 12, 20], "then the widest");
        assert_eq!(narrowed(vec![30, 40, 30], 50), [18, 8, 20], "then what is copied");
        assert_eq!(narrowed(vec![30, 40, 30], 10), [8, 8, 20], "no further");
        assert_eq!(narrowed(vec![30], 10), [10], "one column is the last one");
    }

    #[test]
    fn the_last_column_gives_way_on_a_terminal() {
        assert_eq!(
            table().render(ColorPalette::Plain, Some(31)),
            "ID       WHAT\nmachine  Facts about this mach…\n日本     x\n"
        );
    }
}
