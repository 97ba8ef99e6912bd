//! One run: from the words of the command line to an exit status.

use std::{
    cell::RefCell,
    ffi::OsString,
    io,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
};

use clap::{Parser as _, error::ErrorKind as ClapKind};
use tracing_subscriber::EnvFilter;

use crate::{
    args::{CommandLineArgs, GlobalArgs},
    commands::CommandContext,
    completion,
    env_vars::EnvVars,
    errors::{CommandFailure, CommandResult, ExitStatus},
    help::with_groups,
    printer::{ColorChoice, ColorPalette, Printer},
};

/// Parses the words, runs the command and tells how it went.
pub(crate) fn run(words: Vec<OsString>, env: EnvVars) -> ExitStatus {
    let plain = env.no_color || env.dumb_terminal;
    if let Some(shell) = &env.complete {
        let global = GlobalArgs { color: ColorChoice::Never, ..GlobalArgs::default() };
        let printer = Printer::new(&global, plain);
        return print_outcome(&printer, completion::answer(shell, words, &env, &printer));
    }
    let args = match CommandLineArgs::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) => return print_parse_error(&with_groups(error, &words), &words, plain),
    };
    let printer = Printer::new(&args.global, plain);
    let outcome = catch_panics(|| {
        let default = args.command.default_log().filter(|_| !args.global.quiet);
        let directives = match args.global.verbose {
            0 => default,
            1 => Some("info"),
            _ => Some("debug"),
        };
        if let Some(directives) = env.log.as_deref().or(directives) {
            start_log(directives, printer.note_palette == ColorPalette::Colored)?;
        }
        let context = CommandContext { global: args.global, env, printer: &printer };
        args.command.run(&context)
    });
    print_outcome(&printer, outcome)
}

fn print_outcome(printer: &Printer, outcome: CommandResult) -> ExitStatus {
    match outcome.and_then(|status| printer.finish().map(|()| status)) {
        Ok(status) => status,
        Err(failure) => {
            printer.failure(&failure);
            failure.status
        }
    }
}

/// Help and version go to stdout; a mistake goes to stderr, or to stdout as JSON when the line asks for it.
fn print_parse_error(error: &clap::Error, words: &[OsString], plain: bool) -> ExitStatus {
    let wants_json = words.iter().any(|word| word == "--json");
    let printer = Printer::new(&GlobalArgs { json: wants_json, ..GlobalArgs::default() }, plain);
    let text = |palette: ColorPalette| match palette {
        ColorPalette::Colored => error.render().ansi().to_string(),
        ColorPalette::Plain => error.render().to_string(),
    };
    match error.kind() {
        ClapKind::DisplayHelp | ClapKind::DisplayVersion => {
            printer.data(&text(printer.palette));
            ExitStatus::Done
        }
        _ if wants_json => {
            let failure = usage_failure(&text(ColorPalette::Plain));
            printer.failure(&failure);
            failure.status
        }
        _ => {
            printer.raw_error(&text(printer.note_palette));
            ExitStatus::WrongUsage
        }
    }
}

/// What the parser tells people in paragraphs, as one message and a way on.
fn usage_failure(text: &str) -> CommandFailure {
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" "))
        .collect();
    let after =
        |start: &str| paragraphs.iter().find_map(|paragraph| paragraph.trim().strip_prefix(start));
    let message = after("error: ").unwrap_or(text);
    let hint = match (after("tip: "), after("Usage: ")) {
        (Some(tip), _) => tip.to_owned(),
        (None, Some(usage)) => format!("write it as: {usage}"),
        (None, None) => "see: capdeck --help".to_owned(),
    };
    CommandFailure::usage(message).hint(hint)
}

thread_local! {
    /// What the last panic of this thread said, and where.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the command; a panic in it is a failure like any other, of the kind that is ours to fix.
pub(crate) fn catch_panics<T>(
    work: impl FnOnce() -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    panic::set_hook(Box::new(remember));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let said = LAST_PANIC.take().unwrap_or_else(|| "no message".to_owned());
        Err(CommandFailure::bug(format!("internal error: {said}")))
    })
}

fn remember(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("no message");
    let said = match info.location() {
        Some(place) => format!("{message} (at {}:{})", place.file(), place.line()),
        None => message.to_owned(),
    };
    // A panic in a task of its own fails that task only; the log is where it can be found.
    tracing::error!(panic = %said, "a task ended by a bug");
    LAST_PANIC.set(Some(said));
}

fn start_log(directives: &str, color: bool) -> Result<(), CommandFailure> {
    let filter = EnvFilter::builder().parse(directives).map_err(|error| {
        CommandFailure::setup("BAD_LOG_FILTER", format!("CAPDECK_LOG is not a log filter: {error}"))
            .hint("use a level such as `info`, or `capdeck_host=debug`")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(color)
        .with_target(false)
        .init();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::ExitStatus;

    #[test]
    fn a_panic_is_a_bug_with_its_message() {
        let failure =
            catch_panics(|| -> Result<(), CommandFailure> { panic!("seven is not even") })
                .unwrap_err();
        assert_eq!((failure.status, &*failure.code), (ExitStatus::Bug, "INTERNAL_ERROR"));
        assert!(failure.message.contains("seven is not even (at crates/"), "{failure}");
    }

    #[test]
    fn a_failure_passes_through() {
        let failure =
            catch_panics(|| -> Result<(), CommandFailure> { Err(CommandFailure::usage("no")) })
                .unwrap_err();
        assert_eq!(failure.status, ExitStatus::WrongUsage);
    }
}
