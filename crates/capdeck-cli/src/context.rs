//! What every command is given.

use capdeck_host::Host;

use crate::{
    args::GlobalArgs, env_vars::EnvVars, errors::CommandFailure, printer::Printer,
    settings::CommandSettings,
};

/// The surroundings of one command.
#[derive(Debug)]
pub(crate) struct CommandContext<'a> {
    pub(crate) global: GlobalArgs,
    pub(crate) env: EnvVars,
    pub(crate) printer: &'a Printer,
}

impl CommandContext<'_> {
    /// The settings of this run. Commands that need no folders never ask.
    pub(crate) fn settings(&self) -> Result<CommandSettings, CommandFailure> {
        CommandSettings::resolve(&self.global, &self.env)
    }

    /// Opens the host on the decks in force, without connecting to anything.
    pub(crate) fn open_host(&self) -> Result<Host, CommandFailure> {
        self.settings()?.open_host()
    }
}
