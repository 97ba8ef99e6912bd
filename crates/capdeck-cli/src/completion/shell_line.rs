//! `capdeck sh …` as a command of its own: groups and tools are its subcommands, arguments their flags.

use std::{ffi::OsString, sync::Arc};

use capdeck_catalog::{Capability, Catalog, CommandNames, Tool, command_word, tool_by_word};
use clap::{Arg, ArgAction, Command, builder::PossibleValuesParser};

use crate::{
    arguments::{OWN_FLAGS, ToolParameter, ToolParameters, plain, schema_value},
    plain_text::first_line,
};

/// Global flags that take a value, so that the value is not taken for a command.
const WITH_VALUE: [&str; 3] = ["project", "config", "color"];

pub(super) fn words_after_sh(typed: &[OsString]) -> Option<Vec<String>> {
    let mut words = typed.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(flag) if WITH_VALUE.contains(&flag) => drop(words.next()),
            Some(_) => {}
            None if word.starts_with('-') => {}
            // The word being typed may become another command.
            None if word != "sh" => return None,
            None => {
                return Some(words.map(std::borrow::Cow::into_owned).collect())
                    .filter(|words: &Vec<_>| !words.is_empty());
            }
        }
    }
    None
}

/// The command line with those groups, tools and flags that these words lead to.
pub(super) fn command(catalog: Option<&Catalog>, words: &[String]) -> Command {
    let mut shell = with_own_flags(bare("sh"), |_| false);
    if let Some(catalog) = catalog {
        let names = CommandNames::from_catalog(catalog);
        // The last word is the one being typed.
        let before = words.split_last().map_or(words, |(_, before)| before);
        let typed: Vec<&String> = before.iter().filter(|word| !word.starts_with('-')).collect();
        let chosen = typed.first().and_then(|word| names.group(word).ok());
        // Commands in no group are words by themselves.
        let tools = names.ungrouped_tools();
        let is_tool = typed.first().is_none_or(|word| tool_by_word(&tools, word).is_ok());
        if chosen.is_none() && is_tool {
            shell = with_tools(shell, &tools, typed.first().copied());
        }
        let is_offered = |one: &Arc<Capability>| match (typed.first(), chosen) {
            (None, _) => true,
            (Some(_), Some(chosen)) => Arc::ptr_eq(chosen, one),
            (Some(_), None) => false,
        };
        for (word, capability) in names.groups().filter(|(_, one)| is_offered(one)) {
            let definition = &capability.definition;
            let mut group = bare(word).about(first_line(&definition.name));
            if chosen.is_some() {
                if word != definition.id.as_str() {
                    group = group.alias(definition.id.to_string());
                }
                let known = capability.discovery.as_ref().map(|known| known.tools.as_slice());
                group = with_tools(group, known.unwrap_or_default(), typed.get(1).copied());
            }
            shell = shell.subcommand(group);
        }
    }
    let root = bare("capdeck").subcommand(shell);
    WITH_VALUE.into_iter().fold(root, |root, flag| root.arg(Arg::new(flag).long(flag)))
}

fn with_tools(group: Command, tools: &[Arc<Tool>], typed: Option<&String>) -> Command {
    let chosen = typed.and_then(|word| tool_by_word(tools, word).ok());
    let mut seen: Vec<String> = Vec::new();
    tools.iter().fold(group, |group, tool| {
        let word = command_word(tool.name());
        if seen.contains(&word) {
            return group;
        }
        seen.push(word.clone());
        let summary = tool.description().or_else(|| tool.title()).unwrap_or_default();
        let mut command = bare(&word).about(first_line(&summary));
        if chosen.is_some_and(|chosen| chosen.name() == tool.name()) {
            if word != tool.name() {
                command = command.alias(tool.name().to_owned());
            }
            command = with_flags(command, tool);
        }
        group.subcommand(command)
    })
}

fn with_flags(mut command: Command, tool: &Tool) -> Command {
    let schema = schema_value(tool.input_schema());
    let parameters = ToolParameters::from_schema(&schema);
    let mut taken: Vec<String> = Vec::new();
    for parameter in parameters.iter() {
        let name = parameter.flag();
        let switch = format!("no-{name}");
        if !taken.contains(&name) {
            command = command.arg(flag(&name, parameter));
            taken.push(name);
        }
        if parameter.is_switch() && !taken.contains(&switch) {
            let off = Arg::new(switch.clone()).long(switch.clone());
            command = command.arg(off.action(ArgAction::SetTrue));
            taken.push(switch);
        }
    }
    with_own_flags(command, |name| taken.iter().any(|known| known == name))
}

fn flag(name: &str, parameter: &ToolParameter<'_>) -> Arg {
    let flag = Arg::new(name.to_owned())
        .long(name.to_owned())
        .help(first_line(parameter.text("description").unwrap_or_default()));
    if parameter.is_switch() {
        return flag.action(ArgAction::SetTrue);
    }
    let flag = flag.action(ArgAction::Append);
    match parameter.words() {
        Some(words) => {
            let words: Vec<String> = words.into_iter().map(plain).collect();
            flag.value_parser(PossibleValuesParser::new(words))
        }
        None => flag,
    }
}

fn with_own_flags(command: Command, is_taken: impl Fn(&str) -> bool) -> Command {
    let ours = OWN_FLAGS.into_iter().filter(|(name, _)| !is_taken(name));
    ours.fold(command, |command, (name, takes_value)| {
        let action = if takes_value { ArgAction::Append } else { ArgAction::SetTrue };
        command.arg(Arg::new(format!("own {name}")).long(name).action(action))
    })
}

fn bare(name: &str) -> Command {
    Command::new(name.to_owned()).disable_help_flag(true).disable_help_subcommand(true)
}
