//! `capdeck capsule diff NAME URI [FROM [TO]]`: what changed between two versions.

use capdeck_host::{DiffRequest, ReadBody, ReadRequest};

use crate::{
    capsule_client::with_capsules,
    completion::{capsules, entries},
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::lines,
    printer::{Palette, Style},
};

/// Show what changed between two versions of an entry
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: String,
    /// The older version; the one before the current one by default.
    #[arg(value_name = "FROM")]
    from: Option<u64>,
    /// The newer version; the current one by default.
    #[arg(value_name = "TO")]
    to: Option<u64>,
}

pub(crate) fn run(args: &DiffArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let DiffArgs { name, uri, from, to } = args;
    let answer = with_capsules(context, async |capsules| {
        let from = match from {
            Some(from) => *from,
            None => {
                let (uri, body) = (uri.clone(), ReadBody::Meta);
                let read = ReadRequest { uri, version: None, body };
                capsules.ask(Some(name), read).await?.info.version.saturating_sub(1)
            }
        };
        if from == 0 {
            let message = format!("`{uri}` has one version only");
            return Err(Failure::request("NOTHING_TO_COMPARE", message)
                .hint(format!("read it with: capdeck capsule read {name} {uri}")));
        }
        capsules.ask(Some(name), DiffRequest { uri: uri.clone(), from, to: *to }).await
    })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
        return Ok(ExitStatus::Done);
    }
    match answer.diff.as_str() {
        "" => printer.note("they say the same"),
        diff if printer.palette() == Palette::Colored => printer.data(&painted(&lines(diff))),
        diff => printer.data(diff),
    }
    Ok(ExitStatus::Done)
}

fn painted(diff: &str) -> String {
    let paint = |line: &str| match line.chars().next() {
        Some('+') => Palette::Colored.paint(Style::Good, line),
        Some('-') => Palette::Colored.paint(Style::Bad, line),
        Some('@') => Palette::Colored.paint(Style::Dim, line),
        _ => line.to_owned(),
    };
    diff.lines().map(|line| paint(line) + "\n").collect()
}
