//! Asks the person at the terminal, one line at a time.

use std::io::{self, Write as _};

/// Speaks on stderr and reads stdin. Exists only where both are a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker(pub(super) ());

impl Asker {
    /// Shows a line.
    pub(crate) fn say(self, text: &str) {
        // A terminal that is gone cannot be told so.
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    /// The person's answer to a prompt, without its line break. `None` when the input ended.
    pub(crate) fn line(self, prompt: &str) -> Option<String> {
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
