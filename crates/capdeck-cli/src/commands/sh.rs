//! `capdeck sh`: every tool as a command.

mod help;

use std::{sync::Arc, time::Duration};

use capdeck_host::{CallContext, CallError, ErrorCode, ShellTarget, ShellTool};
use capdeck_serve::{ShellCall, ToolShell};
use serde::Serialize;
use serde_json::{json, value::RawValue};

use super::call::{CallWatcher, show_result, tool_name};
use crate::{
    arguments::{ShellFlags, read_flags, schema_value},
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    help::help_of,
    plain_text::one_line,
    printer::Printer,
    runtime::{single_thread, stop_signal},
    settings::CommandSettings,
    shell_deck::ShellDeck,
};

/// Use every tool as a shell command with flags and help
///
/// For work at the keyboard and in scripts, and for agents that have a shell and no MCP. `sh` lists the groups, `sh GROUP` its tools, and `sh GROUP TOOL --flags` calls one. Flags come from the tool's schema;
/// `sh GROUP TOOL --help` shows them. Works through a running `capdeck up` of the same deck, or without one.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  capdeck sh
  capdeck sh machine now --zone Europe/Berlin
  capdeck sh github create-issue --title Bug --labels ui --labels urgent
  capdeck sh github create-issue --args @issue.json --dry-run

Everything after the tool belongs to the tool. Flags of `sh` are understood there, too, unless the tool has a flag of the \
     same name; then they go before the group, and after `--` every flag is the tool's."
)]
pub(crate) struct ShArgs {
    #[command(flatten)]
    own: ShellFlags,
    /// The group, the tool and the tool's flags.
    #[arg(value_name = "GROUP TOOL --FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(args: &ShArgs, context: &CommandContext<'_>) -> CommandResult {
    let ShArgs { own, words } = args;
    let printer = context.printer;
    if let Some(flag) = words.first().filter(|word| word.starts_with('-')) {
        return Err(CommandFailure::usage(format!("there is no flag `{flag}` here"))
            .hint("flags of a tool go after its name: capdeck sh GROUP TOOL --flag value"));
    }
    if own.help && words.is_empty() {
        printer.data(&help_of("sh"));
        return Ok(ExitStatus::Done);
    }
    // A caller that wants JSON is not asked.
    let asker = printer.asker().filter(|_| !words.iter().any(|word| word == "--json"));
    let watcher = Arc::new(CallWatcher::unnamed(asker));
    let settings = context.settings()?;
    single_thread()?.block_on(async {
        let deck = ShellDeck::open(&settings, &watcher, printer).await?;
        let (own, watcher) = (own.clone(), &watcher);
        let mut line = ShellLine { own, words, printer, watcher, settings, deck };
        let outcome = tokio::select! {
            outcome = line.run() => outcome,
            _ = stop_signal() => {
                // The connection goes with the process, and the host cancels the call.
                Err(CommandFailure::interrupted())
            }
        };
        line.deck.close().await;
        outcome
    })
}

struct ShellLine<'a> {
    own: ShellFlags,
    words: &'a [String],
    printer: &'a Printer,
    watcher: &'a Arc<CallWatcher>,
    settings: CommandSettings,
    deck: ShellDeck,
}

impl ShellLine<'_> {
    async fn run(&mut self) -> CommandResult {
        // What surrounds every request of this command line.
        let caller = self.watcher.clone();
        let context =
            CallContext { timeout: None, caller, ..CallContext::detached(Duration::ZERO) };
        let names: Vec<String> =
            self.words.iter().take_while(|word| !word.starts_with('-')).take(2).cloned().collect();
        let progress = self.deck.progress(self.printer, "looking");
        let find = async |shell: &dyn ToolShell| shell.find(&names, &context).await;
        let found =
            self.deck.ask_or_reopen(&self.settings, self.watcher, self.printer, find).await?;
        drop(progress);
        match found.map_err(|error| typed_wrong(error, &WRONG_NAMES))? {
            ShellTarget::Everything(groups, commands) => {
                self.reject_tool_flags(0, "GROUP TOOL")?;
                help::everything(&groups, &commands, self.printer)
            }
            ShellTarget::Group(group, commands) => {
                let wanted = format!("{} TOOL", group.command);
                self.reject_tool_flags(1, &wanted)?;
                help::commands(&group, &commands, self.printer)
            }
            ShellTarget::Tool(tool) => self.use_tool(&tool, &context).await,
        }
    }

    /// Where there is no tool yet, only our own flags make sense.
    fn reject_tool_flags(&mut self, names: usize, wanted: &str) -> Result<(), CommandFailure> {
        let rest = self.words.get(names..).unwrap_or_default();
        let nothing = json!({ "additionalProperties": false });
        read_flags(rest, &nothing, &mut self.own).map_err(|failure| {
            failure.hint(format!("name the tool first: capdeck sh {wanted} --flag"))
        })?;
        self.follow_own_flags();
        Ok(())
    }

    fn follow_own_flags(&self) {
        if self.own.json {
            self.printer.switch_to_json();
        }
    }

    async fn use_tool(&mut self, tool: &ShellTool, context: &CallContext) -> CommandResult {
        let printer = self.printer;
        let ShellTool { capability, command, words, definition, asks } = tool;
        let schema = schema_value(definition.get("inputSchema").map(AsRef::as_ref));
        let rest = self.words.get(*words..).unwrap_or_default();
        let read = read_flags(rest, &schema, &mut self.own).map_err(|failure| match failure.hint {
            None => failure.hint(format!("see: capdeck sh {command} --help")),
            Some(_) => failure,
        });
        self.follow_own_flags();
        let Some(arguments) = read? else {
            return help::print_help(tool, &schema, printer);
        };
        let name = tool_name(definition);
        let ShellFlags { field, timeout_ms, yes, dry_run, raw, .. } = &self.own;
        let mut call = ShellCall {
            capability: capability.clone(),
            tool: name.clone(),
            arguments,
            fields: field.clone(),
            consent: *yes,
            timeout_ms: *timeout_ms,
            unformatted: *raw,
        };
        if *dry_run {
            let asks =
                self.deck.shell().preview(&call, context).await.map_err(invalid_arguments)?;
            return self.show_preview(&call, asks);
        }
        if *asks && !yes && printer.can_ask() {
            let shown = one_line(call.arguments.get());
            let question =
                format!("`{capability}.{name}` requires approval. Call it with {shown}?");
            if !self.watcher.confirm(question).await {
                return Err(CommandFailure::request("CANCELLED", "not called"));
            }
            call.consent = true;
        }
        self.watcher.names(capability);
        self.watcher.show(self.deck.progress(printer, &format!("calling {command}")));
        let result = self.deck.shell().call(&call, context).await;
        self.watcher.hide();
        show_result(&result.map_err(invalid_arguments)?, &name, capability, printer)
    }

    fn show_preview(&self, call: &ShellCall, asks: bool) -> CommandResult {
        let ShellCall { capability, tool, arguments, consent, .. } = call;
        let preview = ShellPreview { capability, tool, asks, arguments };
        let approval = match (asks, consent) {
            (false, _) => "not needed",
            (true, true) => "given by --yes",
            (true, false) => "you would be asked",
        };
        let text = format!(
            "capability  {}\ntool        {}\narguments   {}\napproval    {approval}\n",
            one_line(capability),
            one_line(tool),
            arguments.get()
        );
        self.printer.show(&preview, &text)
    }
}

/// What would be called. The arguments are as they would be sent, so that no number and no order changes.
#[derive(Serialize)]
struct ShellPreview<'a> {
    capability: &'a str,
    tool: &'a str,
    asks: bool,
    arguments: &'a RawValue,
}

/// An error that is one of these codes was typed wrong: names that lead nowhere, arguments that the schema refuses.
pub(super) fn typed_wrong(error: CallError, codes: &[ErrorCode]) -> CommandFailure {
    let is_usage = codes.contains(&error.code);
    let failure = CommandFailure::from(error);
    if is_usage { CommandFailure { status: ExitStatus::WrongUsage, ..failure } } else { failure }
}

const WRONG_NAMES: [ErrorCode; 3] =
    [ErrorCode::ServerNotFound, ErrorCode::ToolNotFound, ErrorCode::RequestInvalid];

fn invalid_arguments(error: CallError) -> CommandFailure {
    typed_wrong(error, &[ErrorCode::RequestInvalid])
}
