//! The starter deck, which is used while nothing else is configured.

use capdeck_definition::Deck;

use crate::{
    commands::CommandContext,
    settings::{CommandSettings, starter_ids},
};

/// Says that the starter deck is no longer used, when a command is what ends its use.
#[derive(Debug)]
pub(super) struct StarterNotice {
    settings: CommandSettings,
    was_used: bool,
}

impl StarterNotice {
    /// Looks before the command writes.
    pub(super) fn of(settings: &CommandSettings) -> Self {
        Self { was_used: is_used(settings), settings: settings.clone() }
    }

    /// Tells it after the command wrote.
    pub(super) fn tell(&self, context: &CommandContext<'_>) {
        if self.was_used && !is_used(&self.settings) && !context.printer.wants_json() {
            let ids = starter_ids().join("`, `");
            context.printer.note(&format!(
                "This replaces the starter deck (`{ids}`); bring it back with: capdeck init --starter"
            ));
        }
    }
}

fn is_used(settings: &CommandSettings) -> bool {
    let deck = Deck::open(&settings.user_roots, settings.project.as_ref());
    deck.definitions.is_empty() && deck.quarantined.is_empty()
}
