//! Where the code of a run comes from.

use std::{
    fs::File,
    io::{IsTerminal as _, Read},
    path::Path,
};

use crate::{errors::Failure, printer::Printer};

/// More than a run accepts, so that the run itself says what is too long.
const MOST_READ: u64 = 4 << 20;

/// Code, and what to call it when something is wrong with it.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The code itself, a file's, or stdin's.
pub(super) fn read(
    file: Option<&Path>,
    code: Option<&str>,
    printer: &Printer,
) -> Result<Source, Failure> {
    let (name, text) = match (code, file) {
        (Some(code), _) => ("the code".to_owned(), Ok(code.to_owned())),
        (None, Some(path)) if path != Path::new("-") => {
            let name = path.display().to_string();
            (name, File::open(path).and_then(|mut file| read_all(&mut file)))
        }
        (None, None) if std::io::stdin().is_terminal() => {
            return Err(Failure::usage("there is no code to run")
                .hint("name a file, write the code after -e, or pipe it in"));
        }
        (None, _) => {
            if std::io::stdin().is_terminal() {
                printer.note("reading the code from the terminal; end it with Ctrl-D");
            }
            ("stdin".to_owned(), read_all(&mut std::io::stdin().lock()))
        }
    };
    match text {
        Ok(text) => Ok(Source { name, text }),
        Err(error) => Err(Failure::usage(format!("cannot read {name}: {error}"))),
    }
}

fn read_all(reader: &mut dyn Read) -> std::io::Result<String> {
    let mut text = String::new();
    reader.take(MOST_READ).read_to_string(&mut text).map(|_| text)
}
