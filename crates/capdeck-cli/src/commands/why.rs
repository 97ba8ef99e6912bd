//! `capdeck why ID [TOOL]`: where it comes from, and why agents do or do not see it.

use std::path::PathBuf;

use capdeck_catalog::{
    Because, Capability, Catalog, Clearance, ImportProblem, Ruling, Subject, Tool, import_problems,
};
use capdeck_definition::{Effect, Exposure, Layer};
use capdeck_host::{CallError, ErrorCode, Host, PinReview, Route, View, ViewPolicy};
use serde_json::{Value, json};

use super::{attach, inspect::known_capability, pins};
use crate::{
    completion::{ids_and_tools, tools_of_id},
    context::Context,
    errors::{ExitStatus, Failure},
    listing::{ItemStatus, ListItem, list_items},
    plain_text::{counted, one_line, written},
    printer::{Palette, Style},
    runtime::single_thread,
    target,
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
    #[arg(long, value_name = "NAME", default_value = "")]
    client: String,
    /// Answer for `capdeck attach URL`: what the running host there hides, and what hides it.
    #[arg(long, value_name = "URL")]
    attach: Option<String>,
    /// The file with that host's key. Without it the key is taken from CAPDECK_ATTACH_KEY.
    #[arg(long, value_name = "FILE", requires = "attach")]
    key_file: Option<PathBuf>,
}

/// How many parts that could not be imported are told one by one.
const MOST_PROBLEMS: usize = 50;

/// Everything there is to say about one capability.
struct Account {
    item: ListItem,
    exposure_from: &'static str,
    /// How agents reach it; `None` when they do not.
    seen: Option<String>,
    tool: Option<Value>,
    /// What a person should look at in its definitions.
    pins: Vec<String>,
    /// What of its description, or of its members, could not be imported.
    left_out: Vec<ImportProblem>,
    last_failure: Option<(String, String)>,
}

pub(crate) fn run(args: &WhyArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let (id, tool) = match (target::split(&args.id), &args.tool) {
        ((id, None), tool) => (id, tool.clone()),
        ((id, Some(tool)), None) => (id, Some(tool)),
        ((_, Some(_)), Some(word)) => {
            return Err(Failure::usage(format!("there is one word too many: `{word}`")));
        }
    };
    let host = match &args.attach {
        None => context.open_host()?,
        Some(url) => {
            let (host, attachment) = attach::open(url, args.key_file.as_deref(), context)?;
            single_thread()?.block_on(host.attach(attachment))?;
            host
        }
    };
    let account = account(&host, &id, tool.as_deref(), &args.client)
        .map_err(|failure| name_both(failure, &host.catalog(), &id))?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&account.to_json());
    } else {
        printer.data(&account.to_text(printer.palette()));
    }
    Ok(ExitStatus::Done)
}

/// Where an attached host has a capability of the same id and wants both offered, each has a name of its own.
fn name_both(failure: Failure, catalog: &Catalog, id: &str) -> Failure {
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

fn account(host: &Host, id: &str, tool: Option<&str>, client: &str) -> Result<Account, Failure> {
    let catalog = host.catalog();
    let broken = list_items(&catalog)
        .into_iter()
        .find(|item| item.id == id && item.status == ItemStatus::Quarantined);
    if let Some(item) = broken {
        return Ok(Account {
            item,
            exposure_from: "",
            seen: None,
            tool: None,
            pins: Vec::new(),
            left_out: Vec::new(),
            last_failure: None,
        });
    }
    let capability = known_capability(host, id)?;
    let view = host.view(&ViewPolicy::default(), client);
    let review = pins::review(host, &capability)?;
    let about = ToolQuestion { catalog: &catalog, view: &view, review: &review, client };
    let tool = tool.map(|name| about.account(&capability, name)).transpose()?;
    let failure = host.last_failure(id);
    Ok(Account {
        item: ListItem::of(&capability),
        exposure_from: match (capability.definition.exposure, capability.exposure_is_explicit) {
            (Some(_), _) => "its own file says so",
            (None, true) => "the deck's config says so",
            (None, false) => "the host's default",
        },
        seen: view.catalog().get(id).and_then(|_| seen(&view, &capability)),
        tool,
        pins: pin_notes(&review),
        left_out: import_problems(&catalog, &capability),
        last_failure: failure.map(|failure| (failure.at.to_string(), failure.message)),
    })
}

/// How agents reach the capability in the view they get by default.
fn seen(view: &View, capability: &Capability) -> Option<String> {
    if !capability.is_usable() {
        return None;
    }
    let id = capability.definition.id.as_str();
    if capability.definition.member_of.is_some() {
        return Some("through its set, and by `search`".to_owned());
    }
    let is_searchable = view.is_searchable(capability);
    let by_budget =
        "by `search`, because listing its tools does not fit the token budget (`surfaceTokens`)";
    Some(match capability.exposure {
        Exposure::None => return None,
        Exposure::OnDemand => "by `setup_tools`, then `call_tool`".to_owned(),
        Exposure::Search => "by `search`, then `describe` and `call_tool`".to_owned(),
        Exposure::CodeMode if view.is_coded(capability) => "from code, by `code_mode`".to_owned(),
        Exposure::CodeModeAndSearch if view.is_coded(capability) => {
            "from code, by `code_mode`, and by `search`".to_owned()
        }
        Exposure::CodeMode | Exposure::CodeModeAndSearch => {
            "by `search`, because `code_mode` does not fit the token budget (`surfaceTokens`)"
                .to_owned()
        }
        Exposure::Progressive | Exposure::ProgressiveAndCodeMode => match view.route(id) {
            Some(Route::Wrapper { .. }) => {
                format!("as one tool `{id}` with an `operation` argument")
            }
            _ if is_searchable => by_budget.to_owned(),
            // An id that is a name of the host's own tools is listed under another one.
            _ => "as one tool with an `operation` argument".to_owned(),
        },
        Exposure::Direct | Exposure::DirectAndCodeMode => {
            let mut tools = capability.discovery.iter().flat_map(|known| &known.tools);
            let is_listed = tools.next().is_none_or(|tool| {
                matches!(view.route(&view.name_of(id, tool.name())), Some(Route::Tool { .. }))
            });
            if is_listed || !is_searchable {
                format!("each tool listed as `{id}__<tool>`")
            } else {
                by_budget.to_owned()
            }
        }
    })
}

/// What a person should look at, one line each.
fn pin_notes(review: &PinReview) -> Vec<String> {
    let mut notes = Vec::new();
    if review.book.as_ref().is_some_and(|book| book.is_repointed) {
        notes.push("it leads somewhere else than before; pinned anew".to_owned());
    }
    notes.extend(
        review.changes.iter().map(|change| format!("`{}` {}", change.tool(), change.kind())),
    );
    notes.extend(review.hidden.keys().map(|tool| format!("`{tool}` has hidden text")));
    notes
}

/// What the answers about one tool are made from.
struct ToolQuestion<'a> {
    catalog: &'a Catalog,
    view: &'a View,
    review: &'a PinReview,
    client: &'a str,
}

impl ToolQuestion<'_> {
    fn account(&self, capability: &Capability, name: &str) -> Result<Value, CallError> {
        let id = capability.definition.id.as_str();
        let tool = self.tool(capability, name)?;
        let agent_name = self.view.name_of(id, name);
        let listed = matches!(self.view.route(&agent_name), Some(Route::Tool { .. }));
        let ruling = self.ruling(capability, tool);
        let mut account = json!({
            "name": name,
            "agentName": agent_name,
            "listed": listed,
            "policy": ruling.effect,
            "policyBecause": because(ruling),
        });
        let ids = self.catalog.with_sets(capability);
        if self.catalog.parts().is_shelved(capability, &ids, name) {
            account["requiredBySkill"] = json!(false);
        }
        if let Some(reason) = self.review.held.get(name) {
            account["held"] = json!(reason.as_str());
        }
        if let Some(found) = self.review.hidden.get(name) {
            account["hiddenText"] = json!(found);
        }
        Ok(account)
    }

    fn ruling(&self, capability: &Capability, tool: &Tool) -> Ruling {
        let policy = &self.catalog.config().policy;
        let ids = self.catalog.with_sets(capability);
        let subject = Subject { capabilities: &ids, tool: tool.name(), definition: Some(tool) };
        Clearance::of(policy, &[self.client]).rule_on(policy, &subject)
    }

    fn tool(&self, capability: &Capability, name: &str) -> Result<&Tool, CallError> {
        tool_of(self.catalog, capability, name)
    }
}

fn because(ruling: Ruling) -> String {
    match ruling.because {
        Because::UserRule(number) => format!("rule {number} of your policy"),
        Because::ProjectRule(number) => format!("rule {number} of this project's policy"),
        Because::SaysDestructive => "it says that it is destructive".to_owned(),
        Because::WantsConfirmation => "its file wants you asked first".to_owned(),
        Because::NoRule => "no rule is about it".to_owned(),
    }
}

fn tool_of<'a>(
    catalog: &'a Catalog,
    capability: &Capability,
    name: &str,
) -> Result<&'a Tool, CallError> {
    let id = capability.definition.id.as_str();
    if capability.discovery.is_none() {
        let message = format!("the tools of `{id}` are not known yet");
        return Err(CallError::new(ErrorCode::ToolNotFound, message)
            .hint(format!("ask for them with: capdeck tools {id}")));
    }
    let Some(tool) = catalog.tool(id, name) else {
        let error = CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`"));
        return Err(match catalog.nearest_tool(id, name) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("see its tools with: capdeck tools {id}")),
        });
    };
    Ok(tool)
}

impl Account {
    fn to_json(&self) -> Value {
        let item = &self.item;
        let mut shown = json!({
            "id": item.id,
            "status": item.status,
            "source": item.source,
            "shadows": item.shadows,
            "exposure": item.exposure,
            "visible": self.seen.is_some(),
        });
        let mut put = |key: &str, value: Value| shown[key] = value;
        if let Some(reason) = &item.reason {
            put("reason", json!(reason));
        }
        if let Some(next_step) = &item.next_step {
            put("nextStep", json!(next_step));
        }
        if let Some(chaos) = &item.chaos {
            put("chaos", json!(chaos));
        }
        if !self.exposure_from.is_empty() {
            put("exposureFrom", json!(self.exposure_from));
        }
        if let Some(seen) = &self.seen {
            put("seen", json!(seen));
        }
        if let Some(tool) = &self.tool {
            put("tool", tool.clone());
        }
        if !self.pins.is_empty() {
            put("pins", json!(self.pins));
        }
        if !self.left_out.is_empty() {
            put("problems", json!(self.left_out));
        }
        if let Some((at, message)) = &self.last_failure {
            put("lastFailure", json!({ "at": at, "message": message }));
        }
        shown
    }

    fn to_text(&self, palette: Palette) -> String {
        let item = &self.item;
        let status = palette.paint(item.status.style(), item.status.as_str());
        let mut text = format!("{} is {status}\n", palette.paint(Style::Strong, &item.id));
        let mut line = |name: &str, value: &str| {
            let name = palette.paint(Style::Dim, &format!("  {name:<15}"));
            text.push_str(&format!("{name}{value}\n"));
        };
        if let Some(reason) = &item.reason {
            line("because", &one_line(reason));
        }
        if let Some(next_step) = &item.next_step {
            line("to do", next_step);
        }
        line(
            "from",
            &format!("{} ({})", item.source.path.display(), layer_name(item.source.layer)),
        );
        for shadowed in &item.shadows {
            let layer = layer_name(shadowed.layer);
            line("replaces", &format!("{} ({layer})", shadowed.path.display()));
        }
        if let Some(chaos) = &item.chaos {
            line("its calls fail", &format!("on purpose, by `chaos`: {}", one_line(chaos)));
        }
        if let Some(exposure) = item.exposure {
            line("exposure", &format!("{} ({})", written(exposure), self.exposure_from));
        }
        match (&self.seen, item.status) {
            (Some(seen), _) => line("agents see it", seen),
            (None, ItemStatus::Ready | ItemStatus::Stale) => {
                line("agents", "do not see it; it is for the command line only");
            }
            (None, _) => line("agents", "do not see it"),
        }
        if let Some(tool) = &self.tool {
            let name = tool["agentName"].as_str().unwrap_or_default();
            let how = if tool["listed"] == true { "listed as" } else { "not listed; callable as" };
            let effect = serde_json::from_value(tool["policy"].clone()).unwrap_or(Effect::Allow);
            let because = tool["policyBecause"].as_str().unwrap_or_default();
            match (effect, tool["held"].as_str()) {
                (Effect::Deny, _) => line("the tool", "does not exist for this client"),
                (_, Some(reason)) => line("the tool", &format!("held: {reason}")),
                _ if tool["requiredBySkill"] == false => line(
                    "the tool",
                    "is not shown to agents, because no skill of the capability file requires it",
                ),
                (Effect::Allow | Effect::Ask, None) => {
                    line("the tool", &format!("{how} `{}`", one_line(name)));
                }
            }
            let effect = match effect {
                Effect::Allow => "allowed",
                Effect::Ask => "a person is asked first",
                Effect::Deny => "denied",
            };
            line("policy", &format!("{effect} ({because})"));
        }
        for note in &self.pins {
            line("pins", &one_line(note));
        }
        if !self.pins.is_empty() {
            line("", &format!("look at it with: capdeck pins diff {}", item.id));
        }
        if !self.left_out.is_empty() {
            let count = counted(self.left_out.len(), "part", "parts");
            line("left out", &format!("{count} could not be imported"));
        }
        for problem in self.left_out.iter().take(MOST_PROBLEMS) {
            let told = format!("{}: {}", problem.place, problem.reason);
            line("", &one_line(&told));
        }
        if self.left_out.len() > MOST_PROBLEMS {
            line("", &format!("all of them with: capdeck why {} --json", item.id));
        }
        if let Some((at, message)) = &self.last_failure {
            line("last failure", &format!("{at}: {}", one_line(message)));
            line("", &format!("try it now with: capdeck check {}", item.id));
        }
        text
    }
}

fn layer_name(layer: Layer) -> &'static str {
    match layer {
        Layer::BuiltIn => "the host itself",
        Layer::Starter => "built in, used while nothing else is configured",
        Layer::Cmp => "your CMP tool",
        Layer::UserConfig => "your config",
        Layer::UserFile => "your file",
        Layer::ProjectCapabilityFile => "this project's capability file",
        Layer::ProjectConfig => "this project's config",
        Layer::ProjectFile => "this project's file",
        Layer::SetConfig => "the config of a set",
        Layer::SetFile => "a file of a set",
        Layer::Remote => "the host that this one is attached to",
    }
}
