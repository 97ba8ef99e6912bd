//! `capdeck capsule schemes NAME`: the schemes of a capsule; `add` and `remove` change them.

use capdeck_host::{AddSchemeRequest, Format, Origin, RemoveSchemeRequest, Scheme, SchemesRequest};
use clap::Subcommand;

use super::{display::ListingPage, write::Class};
use crate::{
    capsule_client::ask,
    completion::capsules,
    context::Context,
    errors::{ExitStatus, Failure},
    printer::Style,
    table::{Cell, Table},
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
pub(crate) struct SchemesArgs {
    /// The capsule whose schemes are listed.
    #[arg(value_name = "NAME", required = true, add = capsules())]
    name: Option<String>,
    #[command(subcommand)]
    command: Option<SchemesCommand>,
}

#[derive(Debug, Subcommand)]
enum SchemesCommand {
    Add(AddArgs),
    Remove(RemoveArgs),
}

/// Add a scheme
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The scheme, without `://`.
    #[arg(value_name = "SCHEME")]
    scheme: String,
    /// How its entries look.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Form,
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
    risk_class: Option<Class>,
}

/// Remove a scheme that has no entries
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The scheme, without `://`.
    #[arg(value_name = "SCHEME")]
    scheme: String,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Form {
    #[default]
    Markdown,
    Json,
    Text,
}

pub(crate) fn run(args: &SchemesArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match (&args.command, &args.name) {
        (Some(SchemesCommand::Add(args)), _) => add(args, context),
        (Some(SchemesCommand::Remove(args)), _) => remove(args, context),
        (None, name) => list(name.as_deref(), context),
    }
}

fn list(name: Option<&str>, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let answer = ask(context, name, SchemesRequest)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&ListingPage::whole(Some(&answer.capsule), &answer.schemes));
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["SCHEME", "FORMAT", "PROMPTS", "FROM", "DESCRIPTION"]);
    for scheme in &answer.schemes {
        let format = match scheme.format {
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Text => "text",
        };
        let origin = match scheme.origin {
            Origin::Builtin => "builtin",
            Origin::Registry => "registry",
            Origin::Capsule => "capsule",
        };
        table.row([
            Cell::styled(Style::Strong, format!("{}://", scheme.name)),
            Cell::plain(format),
            Cell::plain(if scheme.prompt_source { "yes" } else { "" }),
            Cell::plain(origin),
            Cell::plain(scheme.description.as_str()),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}

fn add(args: &AddArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let AddArgs { name, scheme, format, prompts, title, description, risk_class } = args;
    let declared = Scheme {
        title: title.clone(),
        description: description.clone(),
        format: match format {
            Form::Markdown => Format::Markdown,
            Form::Json => Format::Json,
            Form::Text => Format::Text,
        },
        prompt_source: *prompts,
        default_risk_class: risk_class.map(Class::value),
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

fn remove(args: &RemoveArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RemoveArgs { name, scheme } = args;
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
