//! `sh GROUP TOOL --help`: a tool's flags with their types, choices and defaults.

use capdeck_host::{ShellCommand, ShellGroup, ShellTool};
use serde_json::{Value, json};

use crate::{
    arguments::{OWN_FLAGS, ToolParameter, ToolParameters},
    plain_text::{lines, one_line},
    printer::{ColorPalette, Printer, TextStyle},
    table::{TableCell, TextTable},
};

/// Columns of the flags, before what they mean.
const FLAG_COLUMN_WIDTH: usize = 34;

pub(super) fn print_help(tool: &ShellTool, schema: &Value, printer: &Printer) {
    if printer.wants_json() {
        printer.json(&json!({ "command": tool.command, "capability": tool.capability, "asks": tool.asks, "definition": tool.definition }));
    } else {
        printer.data(&render(tool, schema, printer.palette()));
    }
}

fn render(tool: &ShellTool, schema: &Value, palette: ColorPalette) -> String {
    let parameters = ToolParameters::of(schema);
    let required: String = parameters
        .iter()
        .filter(|one| one.is_required)
        .map(|one| format!(" --{} <{}>", one.flag(), one_line(&one.label())))
        .collect();
    let mut text = format!(
        "{} capdeck sh {}{required} [--flags]\n",
        palette.paint(TextStyle::Strong, "Usage:"),
        one_line(&tool.command)
    );
    if let Some(description) = member(tool, "description").or_else(|| member(tool, "title")) {
        text.push_str(&format!("\n{}\n", lines(description.trim())));
    }
    if tool.asks {
        text.push_str(
            "\nRequires approval: the person is asked at a terminal; elsewhere the call waits for `capdeck approve`.\n",
        );
    }
    if parameters.iter().next().is_some() {
        text.push_str(&format!("\n{}\n", palette.paint(TextStyle::Strong, "Flags:")));
    }
    for one in parameters.iter() {
        text.push_str(&entry(&flag(one), &about(one), palette));
    }
    let taken = |name: &str| parameters.iter().any(|one| one.flag() == name || one.name == name);
    // An agent reads this, and must not learn here how to approve its own calls.
    let shown = OWN_FLAGS.iter().filter(|own| own.0 != "yes");
    let (hidden, ours): (Vec<_>, Vec<_>) = shown.partition(|own| taken(own.0));
    let list = |flags: &[&(&str, bool)]| {
        flags.iter().map(|own| format!("--{}", own.0)).collect::<Vec<_>>().join(", ")
    };
    text.push_str(&format!("\nFlags of `sh` itself: {}\n", list(&ours)));
    if !hidden.is_empty() {
        let list = list(&hidden);
        text.push_str(&format!(
            "The tool has its own {list}; those of `sh` go before the group: capdeck sh {list} …\n"
        ));
    }
    text
}

/// `--labels <string>`, with the signs of lists and switches.
fn flag(parameter: &ToolParameter<'_>) -> String {
    let name = parameter.flag();
    if parameter.is_switch() {
        return format!("--{name}, --no-{name}");
    }
    let more = if parameter.is_list() { " …" } else { "" };
    let label = parameter.label();
    let shown = if label.len() > FLAG_COLUMN_WIDTH { "choice".to_owned() } else { label };
    format!("--{name} <{}>{more}", one_line(&shown))
}

/// What it means, and what limits it.
fn about(parameter: &ToolParameter<'_>) -> Vec<String> {
    let mut about = Vec::new();
    let mut notes = Vec::new();
    if parameter.is_required {
        notes.push("required".to_owned());
    }
    if parameter.is_list() {
        notes.push("may be repeated".to_owned());
    }
    for (key, words) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("exclusiveMinimum", "more than"),
        ("exclusiveMaximum", "less than"),
        ("format", "format"),
        ("pattern", "pattern"),
        ("default", "default"),
    ] {
        if let Some(fact) = parameter.fact(key) {
            let shown = fact.as_str().map_or_else(|| fact.to_string(), str::to_owned);
            notes.push(format!("{words} {}", one_line(&shown)));
        }
    }
    if let Some(description) = parameter.text("description") {
        about.extend(description.trim().lines().map(one_line));
    }
    if parameter.label().len() > FLAG_COLUMN_WIDTH && parameter.words().is_some() {
        about.push(format!("one of {}", one_line(&parameter.label().replace('|', ", "))));
    }
    if !notes.is_empty() {
        about.push(format!("[{}]", notes.join(", ")));
    }
    about
}

fn entry(flag: &str, about: &[String], palette: ColorPalette) -> String {
    let width = flag.chars().count();
    let mut text = format!("  {}", palette.paint(TextStyle::Good, flag));
    for (number, line) in about.iter().enumerate() {
        if number == 0 && width < FLAG_COLUMN_WIDTH {
            text.push_str(&" ".repeat(FLAG_COLUMN_WIDTH - width));
        } else {
            text.push_str(&format!("\n{}", " ".repeat(FLAG_COLUMN_WIDTH + 2)));
        }
        text.push_str(line);
    }
    text.push('\n');
    text
}

fn member(tool: &ShellTool, key: &str) -> Option<String> {
    tool.definition.get(key).and_then(|text| serde_json::from_str(text.get()).ok())
}

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
    let mut table = TextTable::new(["GROUP", "TOOLS", "DESCRIPTION"]);
    for group in groups {
        let tools = group.tools.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let about = if group.description.is_empty() { &group.name } else { &group.description };
        table.row([
            TableCell::plain(&group.command),
            TableCell::plain(tools),
            TableCell::plain(first_line(about)),
        ]);
    }
    for one in commands {
        let (word, about) = (one_line(&one.command), first_line(&one.description));
        table.row([TableCell::plain(word), TableCell::plain(""), TableCell::plain(about)]);
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
    let mut table = TextTable::new(["TOOL", "DESCRIPTION"]);
    for one in commands {
        let about = first_line(&one.description);
        table.row([TableCell::plain(one_line(&one.command)), TableCell::plain(about)]);
    }
    table.print(printer);
    printer.note(&format!("\nsee what one takes with: capdeck sh {} TOOL --help", group.command));
}

fn first_line(text: &str) -> String {
    one_line(text.trim().lines().next().unwrap_or_default())
}
