//! One run: from the words of the command line to an exit status.

use std::ffi::OsString;

use clap::{Parser as _, error::ErrorKind as ClapKind};

use crate::{
    args::Args,
    completion,
    context::Context,
    env_vars::EnvVars,
    errors::{ExitStatus, Failure},
    logging, panic_guard,
    printer::{ColorChoice, Format, Palette, Printer, PrinterSettings},
};

/// Parses the words, runs the command and tells how it went.
pub(crate) fn run(words: Vec<OsString>, env: EnvVars) -> ExitStatus {
    let plain = env.no_color || env.dumb_terminal;
    if let Some(shell) = &env.complete {
        let printer = Printer::new(PrinterSettings {
            format: Format::Text,
            quiet: false,
            color: ColorChoice::Never,
            plain,
        });
        return conclude(&printer, completion::answer(shell, words, &env, &printer));
    }
    let args = match Args::try_parse_from(&words) {
        Ok(args) => args,
        Err(error) => return misunderstood(&error, &words, plain),
    };
    let printer = Printer::new(PrinterSettings {
        format: if args.global.json { Format::Json } else { Format::Text },
        quiet: args.global.quiet,
        color: args.global.color,
        plain,
    });
    let outcome = panic_guard::guarded(|| {
        let global = &args.global;
        let colored = printer.note_palette() == Palette::Colored;
        let default = args.command.default_log();
        logging::start(env.log.as_deref(), global.verbose, global.quiet, default, colored)?;
        let context = Context { global: args.global, env, printer: &printer };
        args.command.run(&context)
    });
    conclude(&printer, outcome)
}

fn conclude(printer: &Printer, outcome: Result<ExitStatus, Failure>) -> ExitStatus {
    match outcome.and_then(|status| printer.finish().map(|()| status)) {
        Ok(status) => status,
        Err(failure) => {
            printer.failure(&failure);
            failure.status
        }
    }
}

/// Help and version go to stdout; a mistake goes to stderr, or to stdout as JSON when the line asks for it.
fn misunderstood(error: &clap::Error, words: &[OsString], plain: bool) -> ExitStatus {
    let wants_json = words.iter().any(|word| word == "--json");
    let printer = Printer::new(PrinterSettings {
        format: if wants_json { Format::Json } else { Format::Text },
        quiet: false,
        color: ColorChoice::Auto,
        plain,
    });
    let text = |palette: Palette| match palette {
        Palette::Colored => error.render().ansi().to_string(),
        Palette::Plain => error.render().to_string(),
    };
    match error.kind() {
        ClapKind::DisplayHelp | ClapKind::DisplayVersion => {
            printer.data(&text(printer.palette()));
            ExitStatus::Done
        }
        _ if wants_json => {
            let whole = text(Palette::Plain);
            let message = whole.lines().next().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            let tip = whole.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
            let failure = Failure::usage(message).hint(tip.unwrap_or("see: capdeck --help"));
            printer.failure(&failure);
            failure.status
        }
        _ => {
            printer.raw_error(&text(printer.note_palette()));
            ExitStatus::WrongUsage
        }
    }
}
