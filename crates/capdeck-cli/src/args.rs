//! The command line as typed. What it means is decided by `settings.rs` and the commands.

use std::path::PathBuf;

use clap::{
    ArgAction, Parser,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

use crate::{commands::CapdeckCommand, printer::ColorChoice};

/// The capability host for AI agents: definition files in, tools out.
#[derive(Debug, Parser)]
#[command(
    name = "capdeck",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Start here: `capdeck up` serves your deck (or a starter deck) over HTTP, `capdeck list` shows \
                  what is in it, `capdeck add mcp …` puts a server into it."
)]
pub(crate) struct CommandLineArgs {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CapdeckCommand,
}

/// Flags that every command takes, before or after its name.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Work in this project instead of the one the current folder belongs to.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Use this folder as the only user deck.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but results and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Log what happens to stderr; twice for more.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

/// A word that a flag takes, with its other spellings after `|`, its help and its meaning.
pub(crate) type ChoiceRow<T> = (&'static str, &'static str, T);

/// A flag that takes one of a few words.
pub(crate) fn choice<T: Clone + Send + Sync + 'static, const WORDS: usize>(
    rows: [ChoiceRow<T>; WORDS],
) -> impl TypedValueParser<Value = T> {
    let words = rows.each_ref().map(|(words, help, _)| {
        let mut spellings = words.split('|');
        let value = PossibleValue::new(spellings.next().unwrap_or_default()).aliases(spellings);
        if help.is_empty() { value } else { value.help(*help) }
    });
    PossibleValuesParser::new(words).try_map(move |typed| {
        let row = rows.iter().find(|(words, ..)| words.split('|').any(|word| word == typed));
        row.map(|(.., value)| value.clone()).ok_or("this is not one of the words")
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLineArgs::command().debug_assert();
    }

    #[test]
    fn global_flags_stand_before_or_after_the_command() {
        for words in [["capdeck", "--json", "list"], ["capdeck", "list", "--json"]] {
            assert!(CommandLineArgs::try_parse_from(words).unwrap().global.json, "{words:?}");
        }
    }
}
