//! Colours by meaning.

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Good,
    Bad,
    Careful,
    Strong,
    Dim,
}

/// Whether meanings become colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Palette {
    Plain,
    Colored,
}

impl Palette {
    /// The text in the colour of its meaning. The text alone must make sense, too.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self == Self::Plain || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Good => "32",
            Style::Bad => "31;1",
            Style::Careful => "33",
            Style::Strong => "1",
            Style::Dim => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
