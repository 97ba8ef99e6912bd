//! What every command is given.

use capdeck_host::Host;

use crate::{
    args::GlobalArgs, env_vars::EnvVars, errors::Failure, printer::Printer, settings::Settings,
};

/// The surroundings of one command.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) global: GlobalArgs,
    pub(crate) env: EnvVars,
    pub(crate) printer: &'a Printer,
}

impl Context<'_> {
    /// The settings of this run. Commands that need no folders never ask.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        Settings::resolve(&self.global, &self.env)
    }

    /// Opens the host on the decks in force, without connecting to anything.
    pub(crate) fn open_host(&self) -> Result<Host, Failure> {
        self.settings()?.open_host()
    }
}
