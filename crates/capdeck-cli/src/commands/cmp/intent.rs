//! `capdeck cmp intent "WORDS"`: which tool words mean, and running it.

use std::sync::Arc;

use capdeck_catalog::Catalog;
use capdeck_definition::{
    CmpCandidate, CmpIntent, IntentHit, IntentMatch, MatchDoubt, MatchKind, match_intent,
};
use capdeck_host::{CallConsent, CallForm, ToolRequest, calls};
use serde_json::{Map, Value, json, value::RawValue};

use super::installed;
use crate::{
    arguments::to_raw,
    commands::{
        CommandContext,
        call::{CallWatcher, find_tool, render_result},
    },
    errors::{CommandFailure, CommandResult},
    plain_text::{lines, one_line, written},
    printer::Printer,
    runtime::with_caller,
};

/// Find the tool that words mean, and run it
///
/// Without --run, shows the intent with its command and parameters and runs nothing. When several fit equally well they
/// are listed and none is chosen. An intent that changes something is chosen only when the words ask for it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck cmp intent \"check email\"
  capdeck cmp intent \"delete emails\" --run --param 'ids=[\"a1\", \"b2\"]'")]
pub(crate) struct CmpIntentArgs {
    /// What is wanted, in plain words.
    #[arg(value_name = "WORDS")]
    words: String,
    /// Run the intent.
    #[arg(long)]
    run: bool,
    /// A parameter; may be repeated. Lists and objects are written as JSON.
    #[arg(long = "param", value_name = "KEY=VALUE", requires = "run")]
    params: Vec<String>,
    /// For a person at the keyboard: approve the run without being asked. Agents leave the approval to their person.
    #[arg(long, short, requires = "run")]
    yes: bool,
}

struct MatchedIntent {
    hit: IntentHit,
    name: String,
    intent: CmpIntent,
}

pub(super) fn run(args: &CmpIntentArgs, context: &CommandContext<'_>) -> CommandResult {
    let CmpIntentArgs { words, run, params, yes } = args;
    let printer = context.printer;
    if words.trim().is_empty() {
        return Err(CommandFailure::usage("say what is wanted")
            .hint("in plain words, such as: capdeck cmp intent \"check email\""));
    }
    let host = context.open_host()?;
    let meant = find(words, &host.catalog())?;
    if !run {
        return printer.json_or(&facts(&meant), || show(&meant, printer));
    }
    let arguments = read_params(params, &meant.intent)?;
    let (id, name) = (meant.hit.capability.clone(), meant.name.clone());
    let watcher = Arc::new(CallWatcher::new(&id, printer.asker()));
    let (client, caller) = (watcher.profile(), watcher.clone());
    let result = with_caller(host, client, caller, async |session, call| {
        let (capability, tool) = find_tool(session, call, &id, &name).await?;
        let consent = match yes {
            true => CallConsent::Given,
            false => watcher.consent(session, &capability, &tool).await?,
        };
        let _progress = printer.progress(&format!("running {id}.{name}"));
        let request = ToolRequest {
            capability: id.clone(),
            tool: name.clone(),
            arguments: Some(arguments),
            consent,
            whole: true,
            form: CallForm::CommandLine,
            ..ToolRequest::default()
        };
        Ok(calls::call(session.request(call), &request).await?)
    })?;
    let shown = render_result(&result);
    if shown.is_error {
        let message = format!("`{id}.{name}` reported a failure");
        let said = lines(shown.text.trim_end());
        return Err(CommandFailure::request("TOOL_ERROR", message)
            .with_details(said)
            .with_data(json!({ "result": result })));
    }
    let mut facts = facts(&meant);
    facts["output"] = serde_json::from_str(&shown.text).unwrap_or_else(|_| json!(shown.text));
    printer.json_or(&facts, || printer.foreign(&shown.text))
}

fn find(words: &str, catalog: &Catalog) -> Result<MatchedIntent, CommandFailure> {
    let candidates: Vec<CmpCandidate<'_>> = installed(catalog)
        .map(|(capability, tool)| CmpCandidate {
            capability: capability.definition.id.as_str(),
            summary: &capability.definition.description,
            tool,
        })
        .collect();
    let tool_of = |hit: &IntentHit| {
        candidates.iter().find(|known| known.capability == hit.capability).map(|known| known.tool)
    };
    match match_intent(words, &candidates) {
        IntentMatch::Nothing => {
            let message = format!("no CMP tool answers to `{}`", one_line(words));
            Err(CommandFailure::request("NO_MATCH", message)
                .hint("see what there is with: capdeck cmp list"))
        }
        IntentMatch::Ambiguous(hits) => Err(ambiguous(words, &hits)),
        IntentMatch::One(hit) => {
            let found = hit.intent.as_ref().and_then(|name| {
                let intent = tool_of(&hit)?.intents.get(name)?;
                Some((name.clone(), intent.clone()))
            });
            if let Some((name, intent)) = found {
                return Ok(MatchedIntent { hit, name, intent });
            }
            let known: Vec<String> = tool_of(&hit)
                .map(|tool| tool.intents.values().filter_map(|one| one.patterns.first()).cloned())
                .into_iter()
                .flatten()
                .collect();
            let message = format!(
                "only the summary of `{}` fits `{}`, and none of its intents",
                hit.capability,
                one_line(words)
            );
            Err(CommandFailure::request("NO_MATCH", message)
                .hint(format!("it answers to: {}", known.join("; ")))
                .with_data(json!({ "candidates": [hit] })))
        }
    }
}

/// The refusal to guess, with every candidate and what speaks against it.
fn ambiguous(words: &str, hits: &[IntentHit]) -> CommandFailure {
    let words = one_line(words);
    let named: Vec<String> = hits
        .iter()
        .map(|hit| match hit.doubt {
            Some(doubt) => format!("{} ({})", name_of(hit), doubt.reason()),
            None => name_of(hit),
        })
        .collect();
    let message = match (hits, named.as_slice()) {
        ([hit], _) => {
            let reason = hit.doubt.map(MatchDoubt::reason).unwrap_or_default();
            format!("`{words}` does not ask for {}: {reason}", name_of(hit))
        }
        (_, named) => format!("`{words}` could mean any of: {}", named.join(", ")),
    };
    let hint =
        "to run one, ask for it in the words of one of its patterns; see: capdeck cmp list --json";
    CommandFailure::request("AMBIGUOUS", message)
        .hint(hint)
        .with_data(json!({ "candidates": hits }))
}

fn name_of(hit: &IntentHit) -> String {
    match &hit.intent {
        Some(intent) => format!("`{}.{intent}`", hit.capability),
        None => format!("`{}`", hit.capability),
    }
}

fn facts(meant: &MatchedIntent) -> Value {
    let MatchedIntent { hit, name, intent } = meant;
    json!({
        "capability": hit.capability,
        "tool": name,
        "match": hit.kind,
        "pattern": hit.pattern,
        "command": intent.command.text(),
        "params": intent.params,
        "confirm": intent.confirm,
        "destructive": intent.destructive,
        "idempotent": intent.idempotent,
    })
}

fn show(meant: &MatchedIntent, printer: &Printer) {
    let MatchedIntent { hit, name, intent } = meant;
    let how = match hit.kind {
        MatchKind::Exact => "says exactly",
        MatchKind::Expression => "fits",
        MatchKind::Substring | MatchKind::Words | MatchKind::Summary => "is near",
    };
    let pattern = one_line(hit.pattern.as_deref().unwrap_or_default());
    let mut text = format!("{}.{name} ({how} `{pattern}`)\n", hit.capability);
    text.push_str(&format!("  runs    {}\n", one_line(intent.command.text())));
    for (name, param) in &intent.params {
        let mut line = format!("  param   {} {}", one_line(name), param.kind.as_str());
        match &param.default {
            Some(default) => line.push_str(&format!(", {default} by default")),
            None if param.required => line.push_str(", required"),
            None => line.push_str(", optional"),
        }
        if !param.choices.is_empty() {
            let choices: Vec<String> = param.choices.iter().map(Value::to_string).collect();
            line.push_str(&format!(", one of {}", choices.join(" ")));
        }
        if let Some(description) = &param.description {
            line.push_str(&format!(": {}", one_line(description)));
        }
        text.push_str(&format!("{line}\n"));
    }
    if intent.destructive {
        text.push_str("  asks    before it runs, as it cannot be undone\n");
    } else if intent.confirm {
        text.push_str("  asks    before it runs\n");
    }
    printer.data(&text);
    printer.note("run it by adding --run");
}

/// The arguments as given. Texts stay texts here; the intent itself says what they mean.
fn read_params(params: &[String], intent: &CmpIntent) -> Result<Box<RawValue>, CommandFailure> {
    let mut arguments = Map::new();
    for param in params {
        let (key, text) =
            param.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                CommandFailure::usage(format!("`{}` is not a parameter", one_line(param)))
                    .hint("write it as --param key=value")
            })?;
        let kind = intent.params.get(key).map(|param| param.kind);
        let is_json = kind.is_some_and(|kind| {
            kind.items().is_some() || kind == capdeck_definition::CmpType::Object
        });
        let value = if is_json {
            serde_json::from_str(text).map_err(|error| {
                let kind = kind.map(written).unwrap_or_default();
                CommandFailure::usage(format!(
                    "`{key}` is of type `{kind}` and takes JSON: {error}"
                ))
                .hint(format!("quote it for the shell, such as --param '{key}=[\"a\", \"b\"]'"))
            })?
        } else {
            Value::String(text.to_owned())
        };
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(CommandFailure::usage(format!("`{}` is given twice", one_line(key))));
        }
    }
    to_raw(&arguments)
}
