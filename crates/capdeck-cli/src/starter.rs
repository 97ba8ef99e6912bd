//! The deck that is there before anything is configured. Works offline on any Unix.

use capdeck_definition::{Format, Layer, SourceFile};

/// The files of the starter deck, by capability id.
const FILES: [(&str, &str); 2] =
    [("authoring", include_str!("../starter/authoring.md")), ("machine", MACHINE)];

/// Facts about the machine; also what `init` writes as an example.
pub(crate) const MACHINE: &str = include_str!("../starter/machine.md");

/// The starter deck as source files.
pub(crate) fn starter_deck() -> Vec<SourceFile> {
    FILES
        .map(|(id, text)| SourceFile {
            path: format!("starter/{id}.md").into(),
            layer: Layer::Starter,
            format: Format::Caplet { id: id.to_owned() },
            text: Ok(text.to_owned()),
        })
        .into()
}

#[cfg(test)]
mod tests {
    use capdeck_definition::Deck;

    use super::*;

    #[test]
    fn the_starter_deck_is_sound() {
        let deck = Deck::from_sources(starter_deck());
        assert_eq!(deck.diagnostics, []);
        assert_eq!(deck.definitions.len(), FILES.len());
    }
}
