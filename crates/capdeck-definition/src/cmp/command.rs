//! A command with `{param}` placeholders, split into words once, before any value is known.
//!
//! There is no shell: what a value holds can never become another word. That is also why a template that needs a shell is
//! refused rather than run as something else.

use std::{iter::Peekable, str::Chars};

use serde::{Deserialize, Serialize};

/// A command as an author wrote it, and the words it is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommandTemplate {
    text: String,
    words: Vec<CommandWord>,
    /// Variables that a shell would replace here, and that stay as they are.
    shell_variables: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandWord {
    pub pieces: Vec<CommandPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandPiece {
    Text(String),
    /// The value of this parameter goes here.
    Param(String),
    /// The person's home folder goes here: `~` at the start of a word, or `$HOME`.
    Home,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the command is empty")]
    Empty,
    #[error("a quote is not closed: `{quote}`")]
    OpenQuote { quote: char },
    #[error("the command ends in a backslash")]
    LooseBackslash,
    #[error("`{operator}` is for a shell, and commands are run without one")]
    NeedsShell { operator: String },
    #[error("the program itself is a placeholder: `{word}`")]
    OpenProgram { word: String },
    #[error("`{word}` is a script for a shell, and a value in it could add commands")]
    ShellScript { word: String },
}

/// Programs that read a script from the word after `-c`.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "pwsh", "powershell"];

impl CommandTemplate {
    /// Splits a text the way a POSIX shell would, and finds the placeholders in its words.
    pub fn parse(text: &str) -> Result<Self, CommandError> {
        let (words, shell_variables) = split(text)?;
        let words: Vec<CommandWord> = words.iter().map(|word| pieces(word)).collect();
        let template = Self { text: text.to_owned(), words, shell_variables };
        let program = template.words.first().ok_or(CommandError::Empty)?;
        if program.params().next().is_some() {
            return Err(CommandError::OpenProgram { word: program.to_string() });
        }
        template.check_shell(&program.to_string())?;
        Ok(template)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words, the program first.
    pub fn words(&self) -> &[CommandWord] {
        &self.words
    }

    pub fn program(&self) -> String {
        self.words.first().map(ToString::to_string).unwrap_or_default()
    }

    /// The program as it is started with this home folder.
    pub fn program_at(&self, home: &str) -> String {
        let pieces = self.words.first().map(|word| word.pieces.as_slice()).unwrap_or_default();
        let text = |piece: &CommandPiece| match piece {
            CommandPiece::Home => home.to_owned(),
            CommandPiece::Text(text) | CommandPiece::Param(text) => text.clone(),
        };
        pieces.iter().map(text).collect()
    }

    /// The variables that a shell would replace, and that are passed on as they are written.
    pub(crate) fn shell_variables(&self) -> &[String] {
        &self.shell_variables
    }

    /// The parameters in the order of the command; one may repeat.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(CommandWord::params)
    }

    fn check_shell(&self, program: &str) -> Result<(), CommandError> {
        let name = program.rsplit('/').next().unwrap_or(program);
        if !SHELLS.contains(&name) {
            return Ok(());
        }
        let is_script = |flag: &CommandWord| {
            let flag = flag.to_string();
            flag.starts_with('-') && !flag.starts_with("--") && flag.to_lowercase().contains('c')
        };
        let mut pairs = self.words.iter().zip(self.words.iter().skip(1));
        match pairs.find(|(flag, word)| is_script(flag) && word.params().next().is_some()) {
            Some((_, word)) => Err(CommandError::ShellScript { word: word.to_string() }),
            None => Ok(()),
        }
    }
}

impl CommandWord {
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            CommandPiece::Param(name) => Some(name.as_str()),
            CommandPiece::Text(_) | CommandPiece::Home => None,
        })
    }

    /// The one parameter that is the whole word.
    pub fn only_param(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [CommandPiece::Param(name)] => Some(name),
            _ => None,
        }
    }

    /// Whether it is an option such as `--count` whose value would be the next word.
    pub fn is_long_flag(&self) -> bool {
        match self.pieces.as_slice() {
            [CommandPiece::Text(text)] => {
                text.len() > 2 && text.starts_with("--") && !text.contains('=')
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for CommandWord {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for piece in &self.pieces {
            match piece {
                CommandPiece::Text(text) => formatter.write_str(text)?,
                CommandPiece::Param(name) => write!(formatter, "{{{name}}}")?,
                CommandPiece::Home => formatter.write_str("~")?,
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for CommandTemplate {
    type Error = CommandError;
    fn try_from(text: String) -> Result<Self, CommandError> {
        Self::parse(&text)
    }
}

impl From<CommandTemplate> for String {
    fn from(template: CommandTemplate) -> Self {
        template.text
    }
}

/// Stands for the home folder between splitting and cutting: no argument of a program can hold it.
const HOME_MARK: char = '\0';

/// Splits into words: quotes group, a backslash takes the next character as it is. Also the variables that a shell would
/// replace.
fn split(text: &str) -> Result<(Vec<String>, Vec<String>), CommandError> {
    let mut words = Vec::new();
    let mut variables = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            space if space.is_ascii_whitespace() => words.extend(word.take()),
            '\'' => loop {
                let open = CommandError::OpenQuote { quote: '\'' };
                let word = word.get_or_insert_default();
                match letters.next().ok_or(open)? {
                    '\'' => break,
                    inside => word.push(inside),
                }
            },
            '"' => loop {
                let open = || CommandError::OpenQuote { quote: '"' };
                let word = word.get_or_insert_default();
                match letters.next().ok_or_else(open)? {
                    '"' => break,
                    '\\' => match letters.next().ok_or_else(open)? {
                        special @ ('"' | '\\' | '$' | '`') => word.push(special),
                        other => word.extend(['\\', other]),
                    },
                    '`' => return Err(needs_shell("`")),
                    '$' => take_variable(&mut letters, word, &mut variables)?,
                    inside => word.push(inside),
                }
            },
            '\\' => {
                let escaped = letters.next().ok_or(CommandError::LooseBackslash)?;
                word.get_or_insert_default().push(escaped);
            }
            operator @ ('|' | '&' | ';' | '<' | '>' | '`') => {
                return Err(needs_shell(operator.encode_utf8(&mut [0; 4])));
            }
            '$' => take_variable(&mut letters, word.get_or_insert_default(), &mut variables)?,
            '~' if word.is_none()
                && letters.peek().is_none_or(|next| *next == '/' || next.is_ascii_whitespace()) =>
            {
                word.get_or_insert_default().push(HOME_MARK);
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok((words, variables))
}

/// What follows a `$`: the home folder, a variable that stays as it is written, or plain text.
fn take_variable(
    letters: &mut Peekable<Chars<'_>>,
    word: &mut String,
    variables: &mut Vec<String>,
) -> Result<(), CommandError> {
    if letters.peek() == Some(&'(') {
        return Err(needs_shell("$("));
    }
    let mut ahead = letters.clone();
    let is_braced = ahead.next_if_eq(&'{').is_some();
    let mut name = String::new();
    while let Some(letter) = ahead.next_if(|next| *next == '_' || next.is_ascii_alphanumeric()) {
        name.push(letter);
    }
    let is_closed = !is_braced || ahead.next_if_eq(&'}').is_some();
    if name == "HOME" && is_closed {
        word.push(HOME_MARK);
        *letters = ahead;
        return Ok(());
    }
    word.push('$');
    // `${name}` is how some authors write a placeholder, which is seen later.
    if !is_braced && name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic()) {
        variables.push(name);
    }
    Ok(())
}

fn needs_shell(operator: &str) -> CommandError {
    CommandError::NeedsShell { operator: operator.to_owned() }
}

/// Cuts a word at its placeholders and at the home folder.
fn pieces(word: &str) -> CommandWord {
    let mut all = Vec::new();
    for (index, part) in word.split(HOME_MARK).enumerate() {
        if index > 0 {
            all.push(CommandPiece::Home);
        }
        if index == 0 || !part.is_empty() {
            all.extend(placeholders(part));
        }
    }
    // A word that begins with the home folder has no text before it.
    if all.len() > 1 && all.first() == Some(&CommandPiece::Text(String::new())) {
        all.remove(0);
    }
    CommandWord { pieces: all }
}

/// Letters, digits and `_` between braces are placeholders.
fn placeholders(word: &str) -> Vec<CommandPiece> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        plain.push_str(before);
        let name = after.split_once('}').filter(|(name, _)| {
            !name.is_empty()
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        });
        match name {
            Some((name, after)) => {
                if !plain.is_empty() {
                    pieces.push(CommandPiece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(CommandPiece::Param(name.to_owned()));
                rest = after;
            }
            None => {
                plain.push('{');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(CommandPiece::Text(plain));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<String>, String> {
        let template = CommandTemplate::parse(text).map_err(|error| error.to_string())?;
        Ok(template.words().iter().map(|word| format!("{:?}", word.pieces)).collect())
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text).unwrap(), expected, "{text}");
    }

    #[test]
    fn words_are_split_before_placeholders_are_seen() {
        check("a  b\tc", &[r#"[Text("a")]"#, r#"[Text("b")]"#, r#"[Text("c")]"#]);
        check(
            r#"find "{query}" 'to {who}'"#,
            &[r#"[Text("find")]"#, r#"[Param("query")]"#, r#"[Text("to "), Param("who")]"#],
        );
        check(
            "x --n={n}{m}.{n}",
            &[r#"[Text("x")]"#, r#"[Text("--n="), Param("n"), Param("m"), Text("."), Param("n")]"#],
        );
        check(r#"x "" ''"#, &[r#"[Text("x")]"#, r#"[Text("")]"#, r#"[Text("")]"#]);
        check(r#"a\ b "q\"\n" \{"#, &[r#"[Text("a b")]"#, r#"[Text("q\"\\n")]"#, r#"[Text("{")]"#]);
    }

    #[test]
    fn the_home_folder_is_found_where_a_shell_would_find_it() {
        check(
            "~/bin/x ~ a~ \\~/x",
            &[r#"[Home, Text("/bin/x")]"#, "[Home]", r#"[Text("a~")]"#, r#"[Text("~/x")]"#],
        );
        check(
            r#"x $HOME "${HOME}/a" '$HOME' \$HOME $HOMES"#,
            &[
                r#"[Text("x")]"#,
                "[Home]",
                r#"[Home, Text("/a")]"#,
                r#"[Text("$HOME")]"#,
                r#"[Text("$HOME")]"#,
                r#"[Text("$HOMES")]"#,
            ],
        );
        check(
            "x --d=$HOME/{n}",
            &[r#"[Text("x")]"#, r#"[Text("--d="), Home, Text("/"), Param("n")]"#],
        );
        let template = CommandTemplate::parse("~/bin/x $USER '$A' \"$B\" ${c} $1").unwrap();
        assert_eq!(template.program_at("/home/ada"), "/home/ada/bin/x");
        assert_eq!(template.shell_variables(), ["USER", "B"]);
    }

    #[test]
    fn braces_that_hold_no_name_are_text() {
        check("jq '{a: .b}'", &[r#"[Text("jq")]"#, r#"[Text("{a: .b}")]"#]);
        check(
            "x {} {a-b} {",
            &[r#"[Text("x")]"#, r#"[Text("{}")]"#, r#"[Text("{a-b}")]"#, r#"[Text("{")]"#],
        );
        check(
            "x ${n} {{n}}",
            &[
                r#"[Text("x")]"#,
                r#"[Text("$"), Param("n")]"#,
                r#"[Text("{"), Param("n"), Text("}")]"#,
            ],
        );
    }

    #[test]
    fn what_needs_a_shell_or_has_no_end_is_refused() {
        for (text, message) in [
            ("", "the command is empty"),
            ("  ", "the command is empty"),
            ("x 'a", "a quote is not closed: `'`"),
            ("x \"a", "a quote is not closed: `\"`"),
            ("x \\", "the command ends in a backslash"),
            ("x | y", "`|` is for a shell, and commands are run without one"),
            ("x && y", "`&` is for a shell, and commands are run without one"),
            ("x; y", "`;` is for a shell, and commands are run without one"),
            ("x >out", "`>` is for a shell, and commands are run without one"),
            ("x `y`", "``` is for a shell, and commands are run without one"),
            ("x \"$(y)\"", "`$(` is for a shell, and commands are run without one"),
            ("{program} x", "the program itself is a placeholder: `{program}`"),
            (
                "/bin/sh -ec 'echo {x}'",
                "`echo {x}` is a script for a shell, and a value in it could add commands",
            ),
        ] {
            assert_eq!(words(text), Err(message.to_owned()), "{text}");
        }
        assert!(words("sh -c 'echo \"$1\"' sh {x}").is_ok());
        assert!(words("x 'a | b; c' a\\;b").is_ok());
    }
}
