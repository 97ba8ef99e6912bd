//! `capdeck capsule schemes NAME`: the schemes of a capsule; `add` and `remove` change them.

use capdeck_host::{
    AddSchemeRequest, BodyFormat, RemoveSchemeRequest, Scheme, SchemeOrigin, SchemesRequest,
};
use clap::Subcommand;

use super::{display::ListingPage, write::RiskClassArg};
use crate::{
    capsule_client::ask,
    completion::capsules,
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    printer::TextStyle,
    table::{TableCell, TextTable},
};

/// List, add and remove the schemes of a capsule
///
/// Every capsule has `docs://`, `guidance://`, `notes://`, `config://`, `api-data://` and `skills://`; others can be added.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Examples:
  capdeck capsule schemes team
  capdeck capsule schemes add team runbooks --prompts"
)]
pub(crate) struct CapsuleSchemesArgs {
    /// The capsule whose schemes are listed.
    #[arg(value_name = "NAME", required = true, add = capsules())]
    name: Option<String>,
    #[command(subcommand)]
    command: Option<SchemesCommand>,
}

#[derive(Debug, Subcommand)]
enum SchemesCommand {
    Add(SchemeAddArgs),
    Remove(SchemeRemoveArgs),
}

/// Add a scheme
#[derive(Debug, clap::Args)]
struct SchemeAddArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The scheme, without `://`.
    #[arg(value_name = "SCHEME")]
    scheme: String,
    /// How its entries look.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: SchemeFormatArg,
    /// Offer its entries as prompts.
    #[arg(long)]
    prompts: bool,
    /// What it is called.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    title: String,
    /// What belongs there.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// The class of entries whose writer names none.
    #[arg(long, value_name = "CLASS")]
    risk_class: Option<RiskClassArg>,
}

/// Remove a scheme that has no entries
#[derive(Debug, clap::Args)]
struct SchemeRemoveArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The scheme, without `://`.
    #[arg(value_name = "SCHEME")]
    scheme: String,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum SchemeFormatArg {
    #[default]
    Markdown,
    Json,
    Text,
}

pub(crate) fn run(
    args: &CapsuleSchemesArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    match (&args.command, &args.name) {
        (Some(SchemesCommand::Add(args)), _) => add(args, context),
        (Some(SchemesCommand::Remove(args)), _) => remove(args, context),
        (None, name) => list(name.as_deref(), context),
    }
}

fn list(name: Option<&str>, context: &CommandContext<'_>) -> Result<ExitStatus, CommandFailure> {
    let answer = ask(context, name, SchemesRequest)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&ListingPage::whole(Some(&answer.capsule), &answer.schemes));
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(["SCHEME", "FORMAT", "PROMPTS", "FROM", "DESCRIPTION"]);
    for scheme in &answer.schemes {
        let format = match scheme.format {
            BodyFormat::Markdown => "markdown",
            BodyFormat::Json => "json",
            BodyFormat::Text => "text",
        };
        let origin = match scheme.origin {
            SchemeOrigin::Builtin => "builtin",
            SchemeOrigin::Registry => "registry",
            SchemeOrigin::Capsule => "capsule",
        };
        table.row([
            TableCell::styled(TextStyle::Strong, format!("{}://", scheme.name)),
            TableCell::plain(format),
            TableCell::plain(if scheme.prompt_source { "yes" } else { "" }),
            TableCell::plain(origin),
            TableCell::plain(scheme.description.as_str()),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}

fn add(args: &SchemeAddArgs, context: &CommandContext<'_>) -> Result<ExitStatus, CommandFailure> {
    let SchemeAddArgs { name, scheme, format, prompts, title, description, risk_class } = args;
    let declared = Scheme {
        title: title.clone(),
        description: description.clone(),
        format: match format {
            SchemeFormatArg::Markdown => BodyFormat::Markdown,
            SchemeFormatArg::Json => BodyFormat::Json,
            SchemeFormatArg::Text => BodyFormat::Text,
        },
        prompt_source: *prompts,
        default_risk_class: risk_class.map(RiskClassArg::value),
        ..Scheme::named(scheme)
    };
    let answer = ask(context, Some(name), AddSchemeRequest { scheme: declared })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        printer.note(&format!("added {scheme}:// to {name}"));
    }
    Ok(ExitStatus::Done)
}

fn remove(
    args: &SchemeRemoveArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let SchemeRemoveArgs { name, scheme } = args;
    let operation = RemoveSchemeRequest { name: scheme.clone() };
    let answer = ask(context, Some(name), operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        printer.note(&format!("removed {scheme}:// from {name}"));
    }
    Ok(ExitStatus::Done)
}
