//! `capdeck schema`: the JSON Schemas of the file formats.

use capdeck_definition::{capability_file_schema, caplet_schema, cmp_schema, config_schema};

use crate::{
    context::Context,
    errors::{CommandResult, ExitStatus},
};

/// Print the JSON Schema of a file format
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Which format.
    #[arg(value_enum)]
    format: FileFormat,
}

/// The formats that have a schema.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FileFormat {
    /// The frontmatter of a capability file.
    Caplet,
    /// A deck's config file.
    Config,
    /// A project's `capabilities.yaml` or `capabilities.json`.
    Capabilities,
    /// The two files of a CMP tool.
    Cmp,
}

pub(crate) fn run(args: &SchemaArgs, context: &Context<'_>) -> CommandResult {
    context.printer.json(&match args.format {
        FileFormat::Caplet => caplet_schema(),
        FileFormat::Config => config_schema(),
        FileFormat::Capabilities => capability_file_schema(),
        FileFormat::Cmp => cmp_schema(),
    });
    Ok(ExitStatus::Done)
}
