//! What `--help` shows: commands in groups by what they are for, and the options of every command in one line.

use std::{ffi::OsString, iter};

use clap::{Command, CommandFactory as _, error::ErrorKind};

use crate::args::CommandLineArgs;

/// Commands that serve one purpose.
struct CommandGroup {
    title: &'static str,
    /// The commands of the first page.
    main: &'static [&'static str],
    /// The commands that only `help --all` shows.
    more: &'static [&'static str],
}

const GROUPS: [CommandGroup; 6] = [
    CommandGroup {
        title: "Start",
        main: &["import", "add", "connect", "check"],
        more: &["init", "get", "install", "setup", "migrate"],
    },
    CommandGroup {
        title: "Use",
        main: &["search", "call", "sh"],
        more: &["tools", "describe", "run", "types", "cmp"],
    },
    CommandGroup {
        title: "Understand",
        main: &["list", "why", "budget", "audit", "doctor"],
        more: &["inspect", "runs", "artifacts"],
    },
    CommandGroup {
        title: "Control",
        main: &["auth", "approve", "remove"],
        more: &[
            "vault",
            "approvals",
            "pins",
            "trust",
            "untrust",
            "disable",
            "enable",
            "update",
            "disconnect",
            "uninstall",
            "clean",
        ],
    },
    CommandGroup { title: "Share", main: &["up", "capsule"], more: &["serve", "attach"] },
    CommandGroup {
        title: "Author",
        main: &["validate"],
        more: &["schema", "test", "completions", "help"],
    },
];

/// The heading of commands that are in no group.
const OTHERS: &str = "Others";

const COMMAND_TEMPLATE: &str = "{before-help}{about-with-newline}
{usage-heading} {usage}

{all-args}

Global options: --project, --config, --json, --quiet, --verbose, --color (see: capdeck --help){after-help}";

const HELP_ABOUT: &str = "Show the help of a command; with --all, all commands";

/// What clap answers to these words, when that is help: with the commands in groups.
pub(crate) fn with_groups(error: clap::Error, words: &[OsString]) -> clap::Error {
    // clap's own `help` takes no flags.
    let asks_for_all = words.get(1..).is_some_and(|words| words == ["help", "--all"]);
    let line = if asks_for_all { words.get(..1).unwrap_or_default() } else { words };
    match error.kind() {
        _ if asks_for_all => {}
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {}
        _ => return error,
    }
    let flag = asks_for_all.then(|| OsString::from("--help"));
    let parsed = with_commands(asks_for_all).try_get_matches_from(line.iter().cloned().chain(flag));
    parsed.err().unwrap_or(error)
}

/// The help of a command that clap gives none, because the flag is its own.
pub(crate) fn help_of(name: &str) -> String {
    let mut command = with_commands(false);
    let help = command.find_subcommand_mut(name).map(Command::render_long_help);
    help.map(|help| help.to_string()).unwrap_or_default()
}

fn with_commands(all: bool) -> Command {
    let mut command = CommandLineArgs::command();
    // Options of every command reach its subcommands here.
    command.build();
    let command = command.mut_subcommand("help", |help| help.about(HELP_ABOUT));
    let template = main_template(&command, all);
    command.mut_subcommands(fold_global_options).help_template(template)
}

fn fold_global_options(command: Command) -> Command {
    command
        .mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg })
        .mut_subcommands(fold_global_options)
        .help_template(COMMAND_TEMPLATE)
}

/// The page of `capdeck --help` with the commands in place.
fn main_template(command: &Command, all: bool) -> String {
    let mut rest: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let mut parts = Vec::new();
    for CommandGroup { title, main, more } in &GROUPS {
        rest.retain(|name| !main.contains(name) && !more.contains(name));
        let more = if all { *more } else { &[] };
        let names: Vec<&str> = main.iter().chain(more).copied().collect();
        parts.push(group_text(command, title, &names));
    }
    if all && !rest.is_empty() {
        parts.push(group_text(command, OTHERS, &rest));
    }
    let header = command.get_styles().get_header();
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n{header}Options:{header:#}\n{{options}}{{after-help}}",
        parts.join("\n")
    )
}

fn group_text(command: &Command, title: &str, names: &[&str]) -> String {
    const NAME_WIDTH: usize = 16;
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = format!("{header}{title}:{header:#}\n");
    for name in names {
        let Some(command) = command.find_subcommand(name) else { continue };
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let names = iter::once(*name).chain(command.get_visible_aliases());
        let names = names.collect::<Vec<_>>().join(", ");
        text.push_str(&format!("  {literal}{names:<NAME_WIDTH$}{literal:#}{about}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = with_commands(false);
        let known: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let placed = GROUPS.iter().flat_map(|group| group.main.iter().chain(group.more).copied());
        let placed: Vec<&str> = placed.collect();
        assert_eq!(placed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(placed.len(), known.len(), "a command is in two groups");
    }

    #[test]
    fn the_first_page_is_short() {
        let page = with_commands(false).render_help().to_string();
        assert!(page.lines().count() <= 50, "{page}");
        let groups = page.lines().take_while(|line| *line != "Options:").skip(2);
        let widest = groups.map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{page}");
        let count: usize = GROUPS.iter().map(|group| group.main.len()).sum();
        assert!(count <= 18, "{count} commands on the first page");
    }

    #[test]
    fn options_of_every_command_are_one_line_in_its_help() {
        let mut command = with_commands(false);
        let list = command.find_subcommand_mut("list").unwrap();
        let help = list.render_long_help().to_string();
        assert!(help.contains("\n\nGlobal options: --project"), "{help}");
        assert!(!help.contains("Work in this project"), "{help}");
    }
}
