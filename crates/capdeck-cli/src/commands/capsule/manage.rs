//! `capdeck capsule new`, `update`, `schemes` and `collect`: capsules as a whole.

use capdeck_host::{
    AddSchemeRequest, BlobCollection, BodyFormat, CapsuleUpdate, CapsuleVisibility,
    CollectBlobsRequest, CreateCapsuleRequest, RemoveSchemeRequest, RiskClass, Scheme,
    SchemesRequest,
};
use serde_json::json;

use super::{CapsuleNameArg, command_table, display::RISK_CLASSES};
use crate::{
    args::{ChoiceRow, choice},
    capsule_client::{ask, ask_and_show},
    commands::CommandContext,
    completion::capsules,
    errors::{CommandFailure, CommandResult},
    plain_text::written,
    printer::TextStyle,
    table::{TextTable, cell, styled},
};

/// Make a capsule
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule new team --description 'What our agents should know'")]
pub(crate) struct CapsuleNewArgs {
    /// What it is called. Its id, which is part of addresses, is made of this.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    about: CapsuleInfoArgs,
}

/// What a capsule says about itself.
#[derive(Debug, clap::Args)]
pub(super) struct CapsuleInfoArgs {
    /// What it is for, shown to agents that choose between capsules.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Who may learn that it exists without an access to it.
    #[arg(long, value_name = "WHO")]
    visibility: Option<VisibilityArg>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum VisibilityArg {
    /// No one else.
    Private,
    /// The people of this registry.
    Team,
    /// Agents, too: its name and description.
    Discoverable,
}

impl From<VisibilityArg> for CapsuleVisibility {
    fn from(visibility: VisibilityArg) -> Self {
        match visibility {
            VisibilityArg::Private => Self::Private,
            VisibilityArg::Team => Self::Team,
            VisibilityArg::Discoverable => Self::Discoverable,
        }
    }
}

pub(super) fn new(args: &CapsuleNewArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleNewArgs { name, about: CapsuleInfoArgs { description, visibility } } = args;
    let (name, description) = (name.clone(), description.clone());
    let request =
        CreateCapsuleRequest { name, description, visibility: visibility.map(Into::into) };
    ask_and_show(context, None, request, |made, printer| {
        let id = &made.id;
        printer.note(&format!("Created capsule {id}"));
        printer.note(&format!("write to it with: capdeck capsule write {id} docs://readme FILE"));
    })
}

/// Change a capsule's name, description or visibility; its id stays
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleUpdateArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
    /// What it is called from now on.
    #[arg(long = "name", value_name = "NEW")]
    new_name: Option<String>,
    #[command(flatten)]
    about: CapsuleInfoArgs,
}

pub(super) fn update(args: &CapsuleUpdateArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleUpdateArgs { capsule, new_name, about } = args;
    let CapsuleInfoArgs { description, visibility } = about;
    if new_name.is_none() && description.is_none() && visibility.is_none() {
        return Err(CommandFailure::usage("say what to change")
            .hint("use --name, --description or --visibility"));
    }
    let (name, description) = (new_name.clone(), description.clone());
    let request = CapsuleUpdate { name, description, visibility: visibility.map(Into::into) };
    ask_and_show(context, Some(&capsule.name), request, |changed, printer| {
        printer.note(&format!("changed the capsule {}", changed.id));
    })
}

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

command_table! {
    enum SchemesCommand {
        Add(SchemeAddArgs) => add_scheme,
        Remove(SchemeRemoveArgs) => remove_scheme,
    }
}

/// Add a scheme
#[derive(Debug, clap::Args)]
pub(super) struct SchemeAddArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
    /// The scheme, without `://`.
    #[arg(value_name = "SCHEME")]
    scheme: String,
    /// How its entries look.
    #[arg(long, default_value = "markdown", value_name = "FORMAT", value_parser = choice(FORMATS))]
    format: BodyFormat,
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
    #[arg(long, value_name = "CLASS", value_parser = choice(RISK_CLASSES))]
    risk_class: Option<RiskClass>,
}

/// Remove a scheme that has no entries
#[derive(Debug, clap::Args)]
pub(super) struct SchemeRemoveArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
    /// The scheme, without `://`.
    #[arg(value_name = "SCHEME")]
    scheme: String,
}

const FORMATS: [ChoiceRow<BodyFormat>; 3] = [
    ("markdown", "", BodyFormat::Markdown),
    ("json", "", BodyFormat::Json),
    ("text", "", BodyFormat::Text),
];

pub(super) fn schemes(args: &CapsuleSchemesArgs, context: &CommandContext<'_>) -> CommandResult {
    if let Some(command) = &args.command {
        return command.run(context);
    }
    let found = ask(context, args.name.as_deref(), SchemesRequest)?;
    let page = json!({ "items": found.schemes, "capsule": found.capsule });
    context.printer.json_or(&page, || {
        let heading = ["SCHEME", "FORMAT", "PROMPTS", "FROM", "DESCRIPTION"];
        let table = TextTable::new(heading, &found.schemes, |scheme| {
            [
                styled(TextStyle::Strong, format!("{}://", scheme.name)),
                cell(written(scheme.format)),
                cell(if scheme.prompt_source { "yes" } else { "" }),
                cell(written(scheme.origin)),
                cell(&scheme.description),
            ]
        });
        table.print(context.printer);
    })
}

fn add_scheme(args: &SchemeAddArgs, context: &CommandContext<'_>) -> CommandResult {
    let SchemeAddArgs { capsule, scheme, format, prompts, title, description, risk_class } = args;
    let declared = Scheme {
        title: title.clone(),
        description: description.clone(),
        format: *format,
        prompt_source: *prompts,
        default_risk_class: *risk_class,
        ..Scheme::named(scheme)
    };
    let name = &capsule.name;
    ask_and_show(context, Some(name), AddSchemeRequest { scheme: declared }, |_, printer| {
        printer.note(&format!("added {scheme}:// to {name}"));
    })
}

fn remove_scheme(args: &SchemeRemoveArgs, context: &CommandContext<'_>) -> CommandResult {
    let SchemeRemoveArgs { capsule: CapsuleNameArg { name }, scheme } = args;
    let request = RemoveSchemeRequest { name: scheme.clone() };
    ask_and_show(context, Some(name), request, |_, printer| {
        printer.note(&format!("removed {scheme}:// from {name}"));
    })
}

/// Free the space of attached bytes that no version of any entry has any more
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleCollectArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
}

pub(super) fn collect(args: &CapsuleCollectArgs, context: &CommandContext<'_>) -> CommandResult {
    ask_and_show(context, Some(&args.capsule.name), CollectBlobsRequest, |response, printer| {
        let BlobCollection { removed, bytes, kept } = response.collection;
        printer.note(&format!("removed {removed} ({bytes} bytes), kept {kept}"));
    })
}
