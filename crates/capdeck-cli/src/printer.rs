//! The one place that prints. Stdout is data; stderr is for people.

use std::{
    io::{self, IsTerminal as _, Read as _, Write},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use capdeck_auth::Secret;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde::Serialize;

use crate::{
    args::GlobalArgs,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{lines, one_line},
    progress_spinner::ProgressSpinner,
};

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// How a run talks, decided once from flags, environment and terminal.
#[derive(Debug)]
pub(crate) struct Printer {
    is_json: AtomicBool,
    quiet: bool,
    /// What was not said because it is to be quiet.
    unsaid: Mutex<String>,
    /// The colours of stdout.
    pub(crate) palette: ColorPalette,
    /// The colours of stderr.
    pub(crate) note_palette: ColorPalette,
    pub(crate) stdout_is_terminal: bool,
    /// True when notes are read by a person at a terminal.
    pub(crate) stderr_is_terminal: bool,
    /// The first failed write to stdout that was no closed pipe.
    lost: OnceLock<io::Error>,
}

impl Printer {
    /// `is_plain`: the environment asks for no colour.
    pub(crate) fn new(args: &GlobalArgs, is_plain: bool) -> Self {
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let palette = |is_terminal: bool| match args.color {
            ColorChoice::Always => ColorPalette::Colored,
            ColorChoice::Auto if is_terminal && !is_plain => ColorPalette::Colored,
            ColorChoice::Auto | ColorChoice::Never => ColorPalette::Plain,
        };
        Self {
            is_json: AtomicBool::new(args.json),
            quiet: args.quiet,
            unsaid: Mutex::default(),
            palette: palette(stdout),
            note_palette: palette(stderr),
            stdout_is_terminal: stdout,
            stderr_is_terminal: stderr,
            lost: OnceLock::new(),
        }
    }

    pub(crate) fn wants_json(&self) -> bool {
        self.is_json.load(Ordering::Relaxed)
    }

    /// Data is JSON from now on: the flag was found late, among the flags of a tool.
    pub(crate) fn switch_to_json(&self) {
        self.is_json.store(true, Ordering::Relaxed);
    }

    /// The columns of the terminal that stdout is, if it is one.
    pub(crate) fn width(&self) -> Option<usize> {
        if !self.stdout_is_terminal {
            return None;
        }
        let (width, _) = terminal_size::terminal_size()?;
        Some(usize::from(width.0))
    }

    /// True when a person can be asked: both ends are a terminal and the answer is wanted as text.
    pub(crate) fn can_ask(&self) -> bool {
        self.stderr_is_terminal && io::stdin().is_terminal() && !self.wants_json()
    }

    /// The person at the terminal, if there is one.
    pub(crate) fn asker(&self) -> Option<TerminalPrompt> {
        self.can_ask().then_some(TerminalPrompt(()))
    }

    /// Asks a yes-or-no question; anything but yes is no. Notes that were held back are shown first,
    /// because a person must see what they agree to.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        let unsaid = std::mem::take(&mut *self.buffered());
        let answer = TerminalPrompt(()).line(&format!("{unsaid}{question} [y/N] "));
        answer.is_some_and(|answer| is_yes(&answer))
    }

    /// Asks a question that must be agreed to. `refused`: what to say where no one can be asked; `declined`: what did not
    /// happen when the answer is no.
    pub(crate) fn require(
        &self,
        question: &str,
        refused: impl FnOnce() -> CommandFailure,
        declined: &str,
    ) -> Result<(), CommandFailure> {
        match self.can_ask() {
            false => Err(refused()),
            true if self.confirm(question) => Ok(()),
            true => Err(CommandFailure::request("CANCELLED", declined)),
        }
    }

    /// Writes text to stdout, ending with a line break.
    pub(crate) fn data(&self, text: &str) {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.write_stdout(&[text.as_bytes(), end.as_bytes()]);
    }

    /// Writes bytes to stdout as they are.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        self.write_stdout(&[bytes]);
    }

    /// Writes text that others wrote. On a terminal it must not move the cursor.
    pub(crate) fn foreign(&self, text: &str) {
        if self.stdout_is_terminal { self.data(&lines(text)) } else { self.data(text) }
    }

    /// Writes one JSON value to stdout, indented.
    pub(crate) fn json(&self, value: &impl Serialize) {
        self.json_text(serde_json::to_string_pretty(value));
    }

    /// Writes one JSON value to stdout on a line of its own, for readers that follow lines.
    pub(crate) fn json_line(&self, value: &impl Serialize) {
        self.json_text(serde_json::to_string(value));
    }

    fn json_text(&self, text: serde_json::Result<String>) {
        match text {
            Ok(text) => self.data(&text),
            Err(error) => self.note(&format!("the answer cannot be written as JSON: {error}")),
        }
    }

    /// Ends a command: with JSON, or with what `as_text` prints.
    pub(crate) fn json_or(&self, value: &impl Serialize, as_text: impl FnOnce()) -> CommandResult {
        match self.wants_json() {
            true => self.json(value),
            false => as_text(),
        }
        Ok(ExitStatus::Done)
    }

    /// Ends a command that has one thing to say: as JSON, or as a note.
    pub(crate) fn answer(&self, value: &impl Serialize, note: &str) -> CommandResult {
        self.json_or(value, || self.note(note))
    }

    /// Ends a command that shows one thing: as JSON, or as text on stdout.
    pub(crate) fn show(&self, value: &impl Serialize, text: &str) -> CommandResult {
        self.json_or(value, || self.data(text))
    }

    /// Says something to the person, unless they asked for quiet.
    pub(crate) fn note(&self, text: &str) {
        if self.quiet {
            self.buffered().push_str(&format!("{text}\n"));
        } else {
            self.write_stderr(&format!("{text}\n"));
        }
    }

    /// Says something that may need action, unless they asked for quiet.
    pub(crate) fn warn(&self, text: &str) {
        let label = self.note_palette.paint(TextStyle::Careful, "warning:");
        self.note(&format!("{label} {text}"));
    }

    /// Tells why the command failed: as text on stderr, or as JSON on stdout.
    pub(crate) fn failure(&self, failure: &CommandFailure) {
        if self.wants_json() {
            self.json(&failure.to_json());
            return;
        }
        let label = self.note_palette.paint(TextStyle::Bad, "error:");
        let mut text = format!("{label} {}\n", one_line(&failure.message));
        if let Some(said) = &failure.said {
            text.push_str(&format!("{}\n", said.trim_end()));
        }
        if let Some(hint) = &failure.hint {
            let label = self.note_palette.paint(TextStyle::Strong, "hint:");
            text.push_str(&format!("{label} {}\n", one_line(hint)));
        }
        // An error is shown even when everything else is to be quiet.
        self.write_stderr(&text);
    }

    /// Writes to stderr as it is, even when quiet: what clap has already rendered.
    pub(crate) fn raw_error(&self, text: &str) {
        self.write_stderr(text);
    }

    /// A spinner with a text, shown only on a terminal.
    pub(crate) fn progress(&self, text: &str) -> ProgressSpinner {
        if !self.stderr_is_terminal || self.quiet {
            return ProgressSpinner::new(ProgressBar::hidden(), text);
        }
        let bar = ProgressBar::new_spinner().with_message(text.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        ProgressSpinner::new(bar, text)
    }

    /// Whether everything written to stdout arrived; a reader that left early is no failure.
    pub(crate) fn finish(&self) -> Result<(), CommandFailure> {
        match self.lost.get() {
            None => Ok(()),
            Some(error) => Err(CommandFailure::request(
                "OUTPUT_LOST",
                format!("the output could not be written: {error}"),
            )),
        }
    }

    fn buffered(&self) -> std::sync::MutexGuard<'_, String> {
        self.unsaid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_stdout(&self, parts: &[&[u8]]) {
        let mut stdout = io::stdout().lock();
        let written = parts.iter().try_for_each(|part| stdout.write_all(part));
        if let Err(error) = written.and_then(|()| stdout.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            // The first failure says enough.
            let _later = self.lost.set(error);
        }
    }

    fn write_stderr(&self, text: &str) {
        // Nothing is left to tell a failure to.
        let _ignored = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Speaks on stderr and reads stdin. Exists only where both are a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalPrompt(());

/// The person, as far as a question needs one. A trait, because tests answer without a terminal.
pub(crate) trait TerminalUser {
    /// Shows a line.
    fn say(&mut self, text: &str);
    /// The answer to a prompt, without its line break; `None` when there will be no more answers.
    fn line(&mut self, prompt: &str) -> Option<String>;
}

impl TerminalUser for TerminalPrompt {
    fn say(&mut self, text: &str) {
        // A terminal that is gone cannot show the failure.
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    fn line(&mut self, prompt: &str) -> Option<String> {
        let mut stderr = io::stderr().lock();
        write!(stderr, "{prompt}").and_then(|()| stderr.flush()).ok()?;
        drop(stderr);
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(answer.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }
}

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Good,
    Bad,
    Careful,
    Strong,
    Dim,
}

/// Whether meanings become colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorPalette {
    Plain,
    Colored,
}

impl ColorPalette {
    /// The text in the colour of its meaning. The text alone must make sense, too.
    pub(crate) fn paint(self, style: TextStyle, text: &str) -> String {
        if self == Self::Plain || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            TextStyle::Good => "32",
            TextStyle::Bad => "31;1",
            TextStyle::Careful => "33",
            TextStyle::Strong => "1",
            TextStyle::Dim => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A diff in colours, each for lines that begin with a letter.
    pub(crate) fn paint_diff(self, diff: &str, styles: &[(char, TextStyle)]) -> String {
        let paint = |line: &str| {
            let known = styles.iter().find(|(first, _)| line.starts_with(*first));
            known.map_or_else(|| line.to_owned(), |(_, style)| self.paint(*style, line))
        };
        diff.lines().map(|line| paint(line) + "\n").collect()
    }
}

/// Whether an answer agrees. Everything but yes is no.
pub(crate) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Keys that are not part of the text: control-C, control-D, both kinds of backspace, control-U.
const CONTROL_C: u8 = 3;
const CONTROL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const DELETE: u8 = 127;
const CONTROL_U: u8 = 21;

/// Puts the terminal back as it was.
struct EchoGuard {
    before: Termios,
}

/// Asks on stderr and reads from the terminal at stdin. `None` when the person gave up.
///
/// Letters are read one by one: a terminal in line mode cuts lines after 4096 bytes, and a long key would be kept cut.
pub(crate) fn hidden_input(prompt: &str) -> io::Result<Option<Secret>> {
    let mut stderr = io::stderr().lock();
    let quiet = EchoGuard::new()?;
    write!(stderr, "{prompt}").and_then(|()| stderr.flush())?;
    let mut typed = Vec::new();
    let mut gave_up = false;
    for byte in io::stdin().lock().bytes() {
        match byte? {
            b'\n' | b'\r' => break,
            end @ (CONTROL_D | CONTROL_C) => {
                gave_up = end == CONTROL_C || typed.is_empty();
                break;
            }
            BACKSPACE | DELETE => {
                // A letter may be several bytes long.
                while typed.pop().is_some_and(|byte: u8| byte & 0b1100_0000 == 0b1000_0000) {}
            }
            CONTROL_U => typed.clear(),
            letter => typed.push(letter),
        }
    }
    drop(quiet);
    writeln!(stderr)?;
    let text = String::from_utf8(typed)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "what was typed is not UTF-8"))?;
    Ok((!gave_up).then(|| Secret::new(text)))
}

impl EchoGuard {
    fn new() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut during = before.clone();
        // The interrupt key is read as a letter, so that the terminal is never left without echo.
        during.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &during)?;
        Ok(Self { before })
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // A terminal that is gone needs no repair.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
