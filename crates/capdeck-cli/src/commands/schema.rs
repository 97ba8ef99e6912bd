//! `capdeck schema`: the JSON Schemas of the file formats.

use capdeck_definition::{capability_file_schema, caplet_schema, cmp_schema, config_schema};

use crate::{
    context::CommandContext,
    errors::{CommandResult, ExitStatus},
};

/// Print the JSON Schema of a file format
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Which format.
    #[arg(value_enum)]
    format: SchemaFormatArg,
}

/// The formats that have a schema.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SchemaFormatArg {
    /// The frontmatter of a capability file.
    Caplet,
    /// A deck's config file.
    Config,
    /// A project's `capabilities.yaml` or `capabilities.json`.
    Capabilities,
    /// The two files of a CMP tool.
    Cmp,
}

pub(crate) fn run(args: &SchemaArgs, context: &CommandContext<'_>) -> CommandResult {
    context.printer.json(&match args.format {
        SchemaFormatArg::Caplet => caplet_schema(),
        SchemaFormatArg::Config => config_schema(),
        SchemaFormatArg::Capabilities => capability_file_schema(),
        SchemaFormatArg::Cmp => cmp_schema(),
    });
    Ok(ExitStatus::Done)
}
