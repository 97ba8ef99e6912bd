//! `capdeck why ID [TOOL]`: where it comes from, and why agents do or do not see it.

use std::path::PathBuf;

use capdeck_catalog::Catalog;
use capdeck_definition::{PolicyEffect, SourceLayer};
use capdeck_host::{CapabilityReport, HealthStatus, ItemStatus};

use super::attach;
use crate::{
    commands::list::style,
    completion::{ids_and_tools, tools_of_id},
    context::CommandContext,
    errors::{CommandFailure, CommandResult},
    plain_text::{counted, one_line, time, written},
    printer::{ColorPalette, TextStyle},
    runtime::single_thread,
    tool_target,
};

/// Tell where a capability or tool comes from, and why agents do or do not see it
///
/// Names the file and the layer, what it replaces, its exposure and who chose it, what the policy and the pins say, what of its
/// description could not be imported, and its last failure.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The capability's id, or `ID.TOOL`.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: String,
    /// One of its tools.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
    /// Answer for a client of this name, when the policy tells clients apart.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    client: String,
    /// Answer for `capdeck attach URL`: what the running host there hides, and what hides it.
    #[arg(long, value_name = "URL")]
    attach: Option<String>,
    /// The file with that host's key. Without it the key is taken from CAPDECK_ATTACH_KEY.
    #[arg(long, value_name = "FILE", requires = "attach")]
    key_file: Option<PathBuf>,
}

/// How many parts that could not be imported are listed one by one.
const MAX_SHOWN_PROBLEMS: usize = 50;

pub(crate) fn run(args: &WhyArgs, context: &CommandContext<'_>) -> CommandResult {
    let (id, tool) = tool_target::split_words(&args.id, args.tool.as_ref())?;
    let host = match &args.attach {
        None => context.open_host()?,
        Some(url) => {
            let (host, attachment) = attach::open(url, args.key_file.as_deref(), context)?;
            single_thread()?.block_on(host.attach(attachment))?;
            host
        }
    };
    let account = CapabilityReport::of(&host, &id, tool.as_deref(), &args.client)
        .map_err(|error| add_alternatives(error.into(), &host.catalog(), &id))?;
    let printer = context.printer;
    printer.show(&account.to_json(), &to_text(&account, printer.palette()))
}

/// Where an attached host has a capability of the same id and wants both offered, each has a name of its own.
fn add_alternatives(failure: CommandFailure, catalog: &Catalog, id: &str) -> CommandFailure {
    let end = format!("__{id}");
    let is_named = |known: &&str| {
        known.ends_with(&end) && (known.starts_with("local-") || known.starts_with("remote-"))
    };
    let ids = catalog.capabilities().map(|one| one.definition.id.as_str());
    let named: Vec<String> = ids.filter(is_named).map(|known| format!("`{known}`")).collect();
    match named.is_empty() {
        true => failure,
        false => failure.hint(format!("it is offered as {}", named.join(" and "))),
    }
}

fn to_text(account: &CapabilityReport, palette: ColorPalette) -> String {
    let item = &account.item;
    let status = palette.paint(style(item), item.word());
    let mut text = format!("{} is {status}\n", palette.paint(TextStyle::Strong, &item.id));
    let mut line = |name: &str, value: &str| {
        let name = palette.paint(TextStyle::Dim, &format!("  {name:<15}"));
        text.push_str(&format!("{name}{value}\n"));
    };
    if let Some(reason) = &item.reason {
        line("because", &one_line(reason));
    }
    if let Some(next_step) = &item.next_step {
        line("to do", next_step);
    }
    line("from", &format!("{} ({})", item.source.path.display(), layer_name(item.source.layer)));
    for shadowed in &item.shadows {
        let layer = layer_name(shadowed.layer);
        line("replaces", &format!("{} ({layer})", shadowed.path.display()));
    }
    if let Some(chaos) = &item.chaos {
        line("its calls fail", &format!("on purpose, by `chaos`: {}", one_line(chaos)));
    }
    if let Some(exposure) = item.exposure {
        line("exposure", &format!("{} ({})", written(exposure), account.exposure_from));
    }
    match (&account.seen, item.status) {
        (Some(seen), _) => line("agents see it", seen),
        (None, ItemStatus::Ready | ItemStatus::Stale) => {
            line("agents", "do not see it; it is for the command line only");
        }
        (None, _) => line("agents", "do not see it"),
    }
    if let Some(tool) = &account.tool {
        let name = tool["agentName"].as_str().unwrap_or_default();
        let how = if tool["listed"] == true { "listed as" } else { "not listed; callable as" };
        let effect = serde_json::from_value(tool["policy"].clone()).unwrap_or(PolicyEffect::Allow);
        let because = tool["policyBecause"].as_str().unwrap_or_default();
        match (effect, tool["held"].as_str()) {
            (PolicyEffect::Deny, _) => line("the tool", "does not exist for this client"),
            (_, Some(reason)) => line("the tool", &format!("held: {reason}")),
            _ if tool["requiredBySkill"] == false => line(
                "the tool",
                "is not shown to agents, because no skill of the capability file requires it",
            ),
            (PolicyEffect::Allow | PolicyEffect::Ask, None) => {
                line("the tool", &format!("{how} `{}`", one_line(name)));
            }
        }
        let effect = match effect {
            PolicyEffect::Allow => "allowed",
            PolicyEffect::Ask => "a person is asked first",
            PolicyEffect::Deny => "denied",
        };
        line("policy", &format!("{effect} ({because})"));
    }
    for note in &account.pins {
        line("pins", &one_line(note));
    }
    if !account.pins.is_empty() {
        line("", &format!("look at it with: capdeck pins diff {}", item.id));
    }
    if !account.left_out.is_empty() {
        let count = counted(account.left_out.len(), "part", "parts");
        line("problems", &format!("{count} could not be imported"));
    }
    for problem in account.left_out.iter().take(MAX_SHOWN_PROBLEMS) {
        line("", &one_line(&format!("{}: {}", problem.place, problem.reason)));
    }
    if account.left_out.len() > MAX_SHOWN_PROBLEMS {
        line("", &format!("all of them with: capdeck why {} --json", item.id));
    }
    match &item.health {
        HealthStatus::Ok { at } => line("answered", &time(*at)),
        HealthStatus::Failing { since, last_at, times, reason } => {
            let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
            line("failing", &format!("since {}, {times}, last {}", time(*since), time(*last_at)));
            line("last failure", &one_line(reason));
            line("", &format!("try it now with: capdeck check {}", item.id));
        }
        HealthStatus::Unchecked => {
            line("health", &format!("not asked yet; ask with: capdeck check {}", item.id));
        }
        HealthStatus::Starting | HealthStatus::Hidden { .. } | HealthStatus::Disabled => {}
    }
    text
}

fn layer_name(layer: SourceLayer) -> &'static str {
    match layer {
        SourceLayer::BuiltIn => "the host itself",
        SourceLayer::Starter => "built in, used while nothing else is configured",
        SourceLayer::Cmp => "your CMP tool",
        SourceLayer::UserConfig => "your config",
        SourceLayer::UserFile => "your file",
        SourceLayer::ProjectCapabilityFile => "this project's capability file",
        SourceLayer::ProjectConfig => "this project's config",
        SourceLayer::ProjectFile => "this project's file",
        SourceLayer::SetConfig => "the config of a set",
        SourceLayer::SetFile => "a file of a set",
        SourceLayer::Remote => "the host that this one is attached to",
    }
}
