//! `sh GROUP TOOL --help`: a tool's flags with their types, choices and defaults.

use capdeck_host::{ShellCommand, ShellGroup, ShellTool, estimate_tokens};
use serde_json::{Value, json};

use crate::{
    arguments::{OWN_FLAGS, ToolParameter, ToolParameters, plain},
    errors::CommandResult,
    plain_text::{first_line, lines, one_line},
    printer::{ColorPalette, Printer, TextStyle},
    table::{TextTable, cell, cell_or},
};

/// Columns of the flags, before what they mean.
const FLAG_COLUMN_WIDTH: usize = 34;
/// Members of one argument that are shown.
const MAX_NESTED_FLAGS: usize = 40;
/// Objects inside one another whose members are shown.
const MAX_NESTED_DEPTH: usize = 3;
/// Tokens that the list of one group may cost an agent. Descriptions get shorter, and then go.
const MAX_GROUP_TOKENS: usize = 900;
/// How many words of each description are tried, the longest first.
const DESCRIPTION_WORDS: [usize; 5] = [usize::MAX, 16, 10, 6, 4];

pub(super) fn print_help(tool: &ShellTool, schema: &Value, printer: &Printer) -> CommandResult {
    let ShellTool { command, capability, asks, definition, .. } = tool;
    let shown = json!({ "command": command, "capability": capability, "asks": asks, "definition": definition });
    printer.show(&shown, &render(tool, schema, printer.palette))
}

fn render(tool: &ShellTool, schema: &Value, palette: ColorPalette) -> String {
    let parameters = ToolParameters::from_schema(schema);
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
        text.push_str(&entry(&flag(one, ""), &about(one), palette));
        let mut inside = NestedFlags { palette, room: MAX_NESTED_FLAGS, text: &mut text };
        inside.add(one, &one.flag(), 1);
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

/// The members of objects as flags of their own: `--filter.owner.name`.
struct NestedFlags<'a> {
    palette: ColorPalette,
    /// How many more of one argument are shown.
    room: usize,
    text: &'a mut String,
}

impl NestedFlags<'_> {
    fn add(&mut self, parameter: &ToolParameter<'_>, path: &str, depth: usize) {
        // A list of objects is given as JSON.
        if depth > MAX_NESTED_DEPTH || parameter.is_list() {
            return;
        }
        let members = parameter.members();
        for member in members.iter() {
            if self.room == 0 {
                return;
            }
            self.room -= 1;
            let prefix = format!("{path}.");
            self.text.push_str(&entry(&flag(member, &prefix), &about(member), self.palette));
            self.add(member, &format!("{prefix}{}", member.flag()), depth + 1);
        }
    }
}

/// `--labels <string>`, with the signs of lists and switches.
fn flag(parameter: &ToolParameter<'_>, prefix: &str) -> String {
    let name = format!("{prefix}{}", parameter.flag());
    if parameter.is_switch() {
        // A member has no negative form.
        return match prefix {
            "" => format!("--{name}, --no-{name}"),
            _ => format!("--{name} <boolean>"),
        };
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
    if parameter.takes_commas() {
        notes.push("may be repeated, or `a,b`".to_owned());
    } else if parameter.is_list() {
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
            notes.push(format!("{words} {}", one_line(&plain(fact))));
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
pub(super) fn everything(
    groups: &[ShellGroup],
    commands: &[ShellCommand],
    printer: &Printer,
) -> CommandResult {
    printer.json_or(&json!({ "items": groups, "commands": commands }), || {
        if groups.is_empty() && commands.is_empty() {
            printer.note("there is nothing to call; see: capdeck list --all");
            return;
        }
        let of_groups = groups.iter().map(|group| {
            let about = if group.description.is_empty() { &group.name } else { &group.description };
            [cell(&group.command), cell_or("?", group.tools), cell(first_line(about))]
        });
        let alone = commands
            .iter()
            .map(|one| [cell(&one.command), cell(""), cell(first_line(&one.description))]);
        let rows = of_groups.chain(alone);
        TextTable::new(["GROUP", "TOOLS", "DESCRIPTION"], rows, |row| row).print(printer);
        printer.note("\nsee the tools of one with: capdeck sh GROUP");
    })
}

pub(super) fn commands(
    group: &ShellGroup,
    commands: &[ShellCommand],
    printer: &Printer,
) -> CommandResult {
    let word = &group.command;
    printer.json_or(&json!({ "group": group, "items": commands }), || {
        if commands.is_empty() {
            printer.note(&format!("`{word}` offers no tools"));
            return;
        }
        group_table(commands, |text| estimate_tokens(text) <= MAX_GROUP_TOKENS).print(printer);
        printer.note(&format!("\nsee what one takes with: capdeck sh {word} TOOL --help"));
    })
}

/// The table with descriptions as long as the list stays small enough, and without any where none fit.
fn group_table(commands: &[ShellCommand], is_small: impl Fn(&str) -> bool) -> TextTable {
    let with = |words: usize| {
        TextTable::new(["TOOL", "DESCRIPTION"], commands, |one| {
            [cell(&one.command), cell(first_words(&first_line(&one.description), words))]
        })
    };
    let mut tables = DESCRIPTION_WORDS.into_iter().map(with);
    let fitting = tables.find(|table| is_small(&table.render(ColorPalette::Plain, None)));
    fitting.unwrap_or_else(|| TextTable::new(["TOOL"], commands, |one| [cell(&one.command)]))
}

fn first_words(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(most.saturating_add(1)).collect();
    match words.get(..most) {
        Some(shown) if words.len() > most => format!("{}…", shown.join(" ")),
        _ => words.join(" "),
    }
}
