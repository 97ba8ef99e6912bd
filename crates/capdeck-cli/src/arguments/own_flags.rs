//! Flags of `sh` itself, which may stand before the group or after the tool.

/// What the person wants done with the call, whatever the tool is.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct OwnFlags {
    /// All arguments as one JSON object: the text itself, `@FILE`, or `-` for stdin; other flags are laid over it.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Keep only this part of a structured result; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) field: Vec<String>,
    /// Longest silence of the tool, in milliseconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout_ms: Option<u64>,
    /// For a person at the keyboard: approve the call without being asked. Agents leave the approval to their person.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show what would be called with which arguments, and call nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show the result as the server gave it, without the formatter of the capability file.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show what a group or a tool takes.
    #[arg(long, short)]
    pub(crate) help: bool,
    /// Also understood after the tool, where it is no global flag any more.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// The names of these flags, and whether they take a value.
pub(crate) const OWN_FLAGS: [(&str, bool); 8] = [
    ("args", true),
    ("dry-run", false),
    ("field", true),
    ("help", false),
    ("json", false),
    ("raw", false),
    ("timeout-ms", true),
    ("yes", false),
];

/// Flags of every command, which must stand before the group.
pub(super) const GLOBAL_FLAGS: [&str; 5] = ["project", "config", "quiet", "verbose", "color"];

impl OwnFlags {
    /// Takes a flag of this name. The text is the value of a flag that takes one.
    pub(super) fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        match name {
            "args" => self.args = Some(text.to_owned()),
            "field" => self.field.push(text.to_owned()),
            "timeout-ms" => match text.parse() {
                Ok(millis) if millis > 0 => self.timeout_ms = Some(millis),
                _ => return Err(format!("`--timeout-ms` takes a positive integer, not `{text}`")),
            },
            "dry-run" => self.dry_run = true,
            "help" => self.help = true,
            "json" => self.json = true,
            "raw" => self.raw = true,
            _ => self.yes = true,
        }
        Ok(())
    }
}
