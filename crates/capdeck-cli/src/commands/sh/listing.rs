//! What `sh` and `sh GROUP` show.

use capdeck_host::{ShellCommand, ShellGroup};
use serde_json::json;

use crate::{
    plain_text::one_line,
    printer::Printer,
    table::{Cell, Table},
};

/// Every group there is, and the commands that are in none.
pub(super) fn everything(groups: &[ShellGroup], commands: &[ShellCommand], printer: &Printer) {
    if printer.wants_json() {
        printer.json(&json!({ "items": groups, "commands": commands }));
        return;
    }
    if groups.is_empty() && commands.is_empty() {
        printer.note("there is nothing to call; see: capdeck list --all");
        return;
    }
    let mut table = Table::new(["GROUP", "TOOLS", "DESCRIPTION"]);
    for group in groups {
        let tools = group.tools.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let about = if group.description.is_empty() { &group.name } else { &group.description };
        table.row([
            Cell::plain(&group.command),
            Cell::plain(tools),
            Cell::plain(first_line(about)),
        ]);
    }
    for one in commands {
        let (word, about) = (one_line(&one.command), first_line(&one.description));
        table.row([Cell::plain(word), Cell::plain(""), Cell::plain(about)]);
    }
    table.print(printer);
    printer.note("\nsee the tools of one with: capdeck sh GROUP");
}

/// The tools of one group.
pub(super) fn commands(group: &ShellGroup, commands: &[ShellCommand], printer: &Printer) {
    if printer.wants_json() {
        printer.json(&json!({ "group": group, "items": commands }));
        return;
    }
    if commands.is_empty() {
        printer.note(&format!("`{}` offers no tools", group.command));
        return;
    }
    let mut table = Table::new(["TOOL", "DESCRIPTION"]);
    for one in commands {
        let about = first_line(&one.description);
        table.row([Cell::plain(one_line(&one.command)), Cell::plain(about)]);
    }
    table.print(printer);
    printer.note(&format!("\nsee what one takes with: capdeck sh {} TOOL --help", group.command));
}

fn first_line(text: &str) -> String {
    one_line(text.trim().lines().next().unwrap_or_default())
}
