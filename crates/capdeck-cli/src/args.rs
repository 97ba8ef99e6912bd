//! The command line as typed. What it means is decided by `settings.rs` and the commands.

use std::{path::PathBuf, time::Duration};

use clap::{
    ArgAction, Parser,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

use crate::{commands::CapdeckCommand, printer::ColorChoice};

/// One deck of MCP servers, APIs and commands for all your agents.
#[derive(Debug, Parser)]
#[command(
    name = "capdeck",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Start with `capdeck import AGENT` and `capdeck connect AGENT`.
All commands: capdeck help --all. One command: capdeck COMMAND --help."
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
    /// Print only results and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Log to stderr; twice for more.
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

/// A time limit: `30s`, `2m`, `500ms`, or a number of seconds.
pub(crate) fn timeout(typed: &str) -> Result<Duration, String> {
    let digits = typed.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let millis = match typed.get(digits.len()..).unwrap_or_default() {
        "" | "s" => 1_000,
        "ms" => 1,
        "m" => 60_000,
        _ => return Err("write it as 30s, 2m or 500ms".to_owned()),
    };
    let millis = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(millis));
    match millis {
        Some(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
        _ => Err("write it as 30s, 2m or 500ms".to_owned()),
    }
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
    fn a_timeout_has_a_unit_or_is_in_seconds() {
        for (typed, millis) in [("30", 30_000), ("30s", 30_000), ("2m", 120_000), ("500ms", 500)] {
            assert_eq!(timeout(typed), Ok(Duration::from_millis(millis)), "{typed}");
        }
        for typed in ["", "s", "0", "-1", "1h", "1.5s", "99999999999999999999"] {
            assert!(timeout(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn global_flags_stand_before_or_after_the_command() {
        for words in [["capdeck", "--json", "list"], ["capdeck", "list", "--json"]] {
            assert!(CommandLineArgs::try_parse_from(words).unwrap().global.json, "{words:?}");
        }
    }
}
