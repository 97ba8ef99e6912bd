//! A line typed at the terminal without showing it.

use std::io::{self, Read as _, Write as _};

use capdeck_auth::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

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
