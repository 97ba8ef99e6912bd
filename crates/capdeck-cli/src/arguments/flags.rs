//! A tool's arguments from flags: `--name value`, `--name=value`, `--no-name`, `--a.b value`, `--name:=JSON`.

#[cfg(test)]
mod tests;

use capdeck_catalog::{RawMembers, nearest};
use serde_json::{Value, value::RawValue};

use super::{
    not_an_object,
    parameter::{ParameterError, ToolParameter, ToolParameters, missing},
    value::{ArgumentSource, raw, read_comma_list, read_items, read_value, to_raw},
};
use crate::errors::CommandFailure;

struct GivenFlag {
    /// As typed, with its hyphens.
    flag: String,
    /// The names that lead to the value.
    path: Vec<String>,
    value: FlagMeaning,
}

enum FlagMeaning {
    One(Box<RawValue>),
    Items {
        items: Vec<Box<RawValue>>,
        /// The items if the flag is given only once.
        if_alone: Option<Vec<Box<RawValue>>>,
    },
}

/// Where a flag leads.
enum FlagPlace<'s> {
    Tool { path: Vec<String>, parameter: ToolParameter<'s>, is_negated: bool },
    Own { name: &'static str, takes_value: bool },
}

/// Reads the words after a tool's name. Flags of our own go to `own`, unless the tool has one of that name; the rest makes
/// the arguments. `None` when only help is wanted.
pub(crate) fn read_flags(
    words: &[String],
    schema: &Value,
    own: &mut ShellFlags,
) -> Result<Option<Box<RawValue>>, CommandFailure> {
    let parameters = ToolParameters::from_schema(schema);
    let mut ours = words.iter().take_while(|word| *word != "--");
    if ours.any(|word| word == "--help") && parameters.find("help").is_err() {
        // The rest of a line that asks for help may be wrong.
        own.help = true;
        own.json |= words.iter().any(|word| word == "--json");
        return Ok(None);
    }
    let mut source = ArgumentSource::default();
    let mut given: Vec<GivenFlag> = Vec::new();
    let mut rest = words.iter().map(String::as_str).peekable();
    let mut all_to_tool = false;
    while let Some(word) = rest.next() {
        if word == "--" && !all_to_tool {
            all_to_tool = true;
            continue;
        }
        if let ("-h" | "-y", false) = (word, all_to_tool) {
            let name = if word == "-h" { "help" } else { "yes" };
            own.set(name, "").map_err(CommandFailure::usage)?;
            continue;
        }
        let Some(typed) = word.strip_prefix("--").filter(|typed| !typed.is_empty()) else {
            return Err(not_a_flag(word, &parameters));
        };
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (typed, None),
        };
        let (name, is_json) = match name.strip_suffix(':') {
            Some(name) if value.is_some() => (name, true),
            _ => (name, false),
        };
        let flag = format!("--{name}");
        match resolve_flag(name, &parameters, schema, all_to_tool)? {
            FlagPlace::Own { name, takes_value } => {
                let text = match (takes_value, value) {
                    (true, Some(value)) => value,
                    (true, None) => rest.next().ok_or_else(|| needs_value(&flag, "a value"))?,
                    (false, None) => "",
                    (false, Some(_)) => return Err(takes_no_value(&flag)),
                };
                own.set(name, text).map_err(CommandFailure::usage)?;
            }
            FlagPlace::Tool { path, parameter, is_negated } => {
                let text = match value {
                    Some(_) if is_negated => return Err(takes_no_value(&flag)),
                    None if !is_negated => next_value(&parameter, &mut rest),
                    value => value,
                };
                let value = match text {
                    None if is_negated => FlagMeaning::One(to_raw(&false)?),
                    None if parameter.types().has("boolean") => FlagMeaning::One(to_raw(&true)?),
                    None => return Err(needs_value(&flag, &parameter.label())),
                    Some(text) => {
                        parse_value(&flag, &source.text(&flag, text)?, &parameter, is_json)?
                    }
                };
                given.push(GivenFlag { flag, path, value });
            }
        }
    }
    if own.help {
        return Ok(None);
    }
    let whole = own.args.as_deref().map(|typed| source.text("--args", typed)).transpose()?;
    assemble(whole.as_deref(), given, &parameters).map(Some)
}

/// The word after a flag, if it is the flag's value.
fn next_value<'w>(
    parameter: &ToolParameter<'_>,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>,
) -> Option<&'w str> {
    let is_switch = parameter.is_switch();
    rest.next_if(|next| {
        if is_switch { matches!(*next, "true" | "false") } else { !next.starts_with("--") }
    })
}

fn parse_value(
    flag: &str,
    text: &str,
    parameter: &ToolParameter<'_>,
    is_json: bool,
) -> Result<FlagMeaning, CommandFailure> {
    if is_json {
        return raw(flag, text).map(FlagMeaning::One);
    }
    if parameter.is_list() && parameter.choices().is_none() {
        let items = read_items(flag, text, parameter)?;
        let if_alone = read_comma_list(flag, text, parameter)?;
        return Ok(FlagMeaning::Items { items, if_alone });
    }
    read_value(flag, text, parameter).map(FlagMeaning::One)
}

/// What a flag of this name means: the tool's own names first, then ours.
fn resolve_flag<'s>(
    name: &str,
    parameters: &ToolParameters<'s>,
    root: &'s Value,
    all_to_tool: bool,
) -> Result<FlagPlace<'s>, CommandFailure> {
    let tool = |path, parameter| FlagPlace::Tool { path, parameter, is_negated: false };
    let unknown = match parameters.find(name) {
        Ok(parameter) => return Ok(tool(vec![parameter.name.to_owned()], parameter)),
        Err(unknown) => unknown,
    };
    if let ParameterError::Ambiguous { names } = unknown {
        let list: Vec<String> = names.iter().map(|name| format!("--{name}")).collect();
        return Err(ambiguous(name, &list));
    }
    if let Some(positive) = name.strip_prefix("no-")
        && let Ok(parameter) = parameters.find(positive)
        && parameter.types().has("boolean")
    {
        let path = vec![parameter.name.to_owned()];
        return Ok(FlagPlace::Tool { path, parameter, is_negated: true });
    }
    if let Some((path, parameter)) = nested(name, parameters)? {
        return Ok(tool(path, parameter));
    }
    if !all_to_tool && let Some((name, takes_value)) = OWN_FLAGS.iter().find(|own| own.0 == name) {
        return Ok(FlagPlace::Own { name, takes_value: *takes_value });
    }
    match parameters.further {
        Some(further) => Ok(tool(vec![name.to_owned()], ToolParameter::further("", further, root))),
        None => Err(unknown_flag(name, unknown, parameters)),
    }
}

/// `a.b` leads to the member `b` of the object `a`.
fn nested<'s>(
    name: &str,
    parameters: &ToolParameters<'s>,
) -> Result<Option<(Vec<String>, ToolParameter<'s>)>, CommandFailure> {
    let mut parts = name.split('.');
    let Some(Ok(mut parameter)) = parts.next().map(|first| parameters.find(first)) else {
        return Ok(None);
    };
    let mut path = vec![parameter.name.to_owned()];
    for part in parts {
        let members = parameter.members();
        let at = path.join(".");
        parameter = match (members.find(part), members.further) {
            (Ok(member), _) => member,
            (Err(ParameterError::Ambiguous { names }), _) => return Err(ambiguous(name, &names)),
            (Err(_), Some(further)) => {
                path.push(part.to_owned());
                parameter = ToolParameter::further("", further, parameter.root);
                continue;
            }
            (Err(ParameterError::Unknown { nearest }), None) => {
                let failure = CommandFailure::usage(format!("`{at}` has no member `{part}`"));
                return Err(match nearest {
                    Some(near) => failure.hint(format!("did you mean `--{at}.{near}`?")),
                    None => failure,
                });
            }
        };
        path.push(parameter.name.to_owned());
    }
    Ok((path.len() > 1).then_some((path, parameter)))
}

/// Lays the flags over the whole, and tells everything that is missing at once.
fn assemble(
    whole: Option<&str>,
    given: Vec<GivenFlag>,
    parameters: &ToolParameters<'_>,
) -> Result<Box<RawValue>, CommandFailure> {
    let whole = whole.unwrap_or("{}").trim();
    let mut arguments: RawMembers =
        serde_json::from_str(whole).map_err(|error| not_an_object(&error))?;
    let is_changed = !given.is_empty();
    let mut lists: Vec<(Vec<String>, Vec<Box<RawValue>>)> = Vec::new();
    let mut seen: Vec<Vec<String>> = Vec::new();
    let paths: Vec<Vec<String>> = given.iter().map(|one| one.path.clone()).collect();
    let is_alone = |path: &Vec<String>| paths.iter().filter(|other| *other == path).count() == 1;
    for GivenFlag { flag, path, value } in given {
        let is_repeated = seen.contains(&path);
        match value {
            FlagMeaning::Items { items, if_alone } => {
                let items = if_alone.filter(|_| is_alone(&path)).unwrap_or(items);
                match lists.iter_mut().find(|(known, _)| *known == path) {
                    Some((_, list)) => list.extend(items),
                    None if is_repeated => return Err(given_twice(&flag)),
                    None => lists.push((path.clone(), items)),
                }
            }
            FlagMeaning::One(_) if is_repeated => return Err(given_twice(&flag)),
            FlagMeaning::One(value) => insert(&mut arguments, &flag, &path, value)?,
        }
        seen.push(path);
    }
    for (path, items) in lists {
        let flag = format!("--{}", path.join("."));
        insert(&mut arguments, &flag, &path, to_raw(&items)?)?;
    }
    let lacking: Vec<&ToolParameter<'_>> = missing(parameters, &arguments).collect();
    if !lacking.is_empty() {
        let flags = lacking.iter().map(|one| format!("--{} <{}>", one.flag(), one.label()));
        let flags: Vec<String> = flags.collect();
        return Err(CommandFailure::usage(format!("missing: {}", flags.join(", "))));
    }
    if is_changed {
        to_raw(&arguments)
    } else {
        // The text goes on as it is, so that no number and no order changes on the way.
        serde_json::from_str(whole).map_err(|error| not_an_object(&error))
    }
}

fn insert(
    object: &mut RawMembers,
    flag: &str,
    path: &[String],
    value: Box<RawValue>,
) -> Result<(), CommandFailure> {
    let Some((name, rest)) = path.split_first() else { return Ok(()) };
    if rest.is_empty() {
        object.insert(name.clone(), value);
        return Ok(());
    }
    let mut inner: RawMembers = match object.get(name) {
        Some(known) => serde_json::from_str(known.get()).map_err(|_| {
            CommandFailure::usage(format!("`{flag}`: `{name}` was given as something else"))
        })?,
        None => RawMembers::new(),
    };
    insert(&mut inner, flag, rest, value)?;
    object.insert(name.clone(), to_raw(&inner)?);
    Ok(())
}

fn ambiguous(name: &str, names: &[String]) -> CommandFailure {
    CommandFailure::usage(format!("`--{name}` could be several arguments"))
        .hint(format!("write the name as it is, one of: {}", names.join(", ")))
}

fn given_twice(flag: &str) -> CommandFailure {
    CommandFailure::usage(format!("`{flag}` is given twice"))
}

fn takes_no_value(flag: &str) -> CommandFailure {
    CommandFailure::usage(format!("`{flag}` takes no value"))
}

fn needs_value(flag: &str, label: &str) -> CommandFailure {
    CommandFailure::usage(format!("`{flag}` needs a value: {label}"))
        .hint(format!("a value that begins with `--` is written with `=`, such as {flag}=--x"))
}

fn not_a_flag(word: &str, parameters: &ToolParameters<'_>) -> CommandFailure {
    let example = parameters.iter().next().map_or_else(|| "name".to_owned(), ToolParameter::flag);
    CommandFailure::usage(format!("`{word}` is not a flag"))
        .hint(format!("write arguments as flags, such as --{example} VALUE"))
}

fn unknown_flag(
    name: &str,
    unknown: ParameterError,
    parameters: &ToolParameters<'_>,
) -> CommandFailure {
    let failure = CommandFailure::usage(format!("there is no flag `--{name}` here"));
    if GLOBAL_FLAGS.contains(&name) {
        return failure.hint(format!("write it before the group: capdeck sh --{name} …"));
    }
    let own = || nearest(name, OWN_FLAGS.iter().map(|own| own.0)).map(str::to_owned);
    let near = match unknown {
        ParameterError::Unknown { nearest } => nearest.or_else(own),
        ParameterError::Ambiguous { .. } => None,
    };
    match near {
        Some(near) => failure.hint(format!("did you mean `--{near}`?")),
        None => {
            let flags: Vec<String> =
                parameters.iter().map(|one| format!("--{}", one.flag())).collect();
            let known =
                if flags.is_empty() { "it takes none".to_owned() } else { flags.join(", ") };
            failure.hint(format!("its flags: {known}"))
        }
    }
}

/// What the person wants done with the call, for every tool.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ShellFlags {
    /// All arguments as one JSON object: the text itself, `@FILE`, or `-` for stdin. Other flags override it.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Keep only this part of a structured result; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) field: Vec<String>,
    /// Idle timeout of the tool, in milliseconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout_ms: Option<u64>,
    /// For a person at the keyboard: approve the call without being asked. Agents leave the approval to their person.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show what would be called with which arguments, and call nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show the result as the server gave it, without the formatter of the capability file.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show what a group or a tool takes.
    #[arg(long, short)]
    pub(crate) help: bool,
    /// Also understood after the tool, where it is no global flag any more.
    #[arg(skip)]
    pub(crate) json: bool,
}

/// The names of these flags, and whether they take a value.
pub(crate) const OWN_FLAGS: [(&str, bool); 8] = [
    ("args", true),
    ("dry-run", false),
    ("field", true),
    ("help", false),
    ("json", false),
    ("raw", false),
    ("timeout-ms", true),
    ("yes", false),
];

/// Flags of every command, which must be before the group.
pub(super) const GLOBAL_FLAGS: [&str; 5] = ["project", "config", "quiet", "verbose", "color"];

impl ShellFlags {
    /// Takes a flag of this name. The text is the value of a flag that takes one.
    pub(super) fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        match name {
            "args" => self.args = Some(text.to_owned()),
            "field" => self.field.push(text.to_owned()),
            "timeout-ms" => match text.parse() {
                Ok(millis) if millis > 0 => self.timeout_ms = Some(millis),
                _ => return Err(format!("`--timeout-ms` takes a positive integer, not `{text}`")),
            },
            "dry-run" => self.dry_run = true,
            "help" => self.help = true,
            "json" => self.json = true,
            "raw" => self.raw = true,
            _ => self.yes = true,
        }
        Ok(())
    }
}
