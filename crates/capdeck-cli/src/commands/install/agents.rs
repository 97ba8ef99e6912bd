//! Which agents are installed for: the flag, the file, the last run, or a question.

use std::path::Path;

use capdeck_definition::CapabilityFile;
use capdeck_install::{Installer, Provider};

use super::ids;
use crate::{errors::Failure, printer::Printer};

/// The providers of this run, in the order they were named.
pub(super) fn choose(
    named: &[String],
    file: &CapabilityFile,
    installer: &Installer,
    printer: &Printer,
) -> Result<Vec<&'static Provider>, Failure> {
    let listed = file.providers.clone().unwrap_or_default();
    let lists = [named, &listed, installer.earlier_providers()];
    if let Some(list) = lists.into_iter().find(|list| !list.is_empty()) {
        return find(list.iter().map(String::as_str));
    }
    let likely = likely(file.project_dir());
    let Some(asker) = printer.asker() else {
        let hint = match &likely[..] {
            [] => "name one with --provider, or list some under `providers` in the file".to_owned(),
            [first, ..] => format!("run, for example: capdeck install --provider {}", first.id),
        };
        return Err(Failure::request("NO_PROVIDER", "no agent to install for was named").hint(hint));
    };
    asker.say(&format!("Agents that can be installed for: {}", ids(&Provider::all())));
    let prompt = match &likely[..] {
        [] => "Which ones? ".to_owned(),
        likely => format!("Which ones? [{}] ", ids(likely)),
    };
    let answer = asker.line(&prompt).unwrap_or_default();
    let words: Vec<&str> =
        answer.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true if likely.is_empty() => Err(Failure::request("CANCELLED", "nothing was installed")),
        true => Ok(likely),
        false => find(words.into_iter()),
    }
}

fn find<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<&'static Provider>, Failure> {
    let mut found: Vec<&'static Provider> = Vec::new();
    for name in names {
        let provider = Provider::find(name).ok_or_else(|| {
            Failure::request("UNKNOWN_PROVIDER", format!("there is no agent `{name}`"))
                .hint(format!("one of: {}", ids(&Provider::all())))
        })?;
        if !found.contains(&provider) {
            found.push(provider);
        }
    }
    Ok(found)
}

/// Agents that left traces in the project.
fn likely(project: &Path) -> Vec<&'static Provider> {
    let has_traces = |provider: &&Provider| {
        let home = provider.skills.split('/').next().unwrap_or_default();
        // Folders that many share tell nothing.
        let is_own = home.starts_with('.') && home != ".agents";
        (is_own && project.join(home).is_dir())
            || provider.mcp.as_ref().is_some_and(|mcp| project.join(mcp.path).is_file())
    };
    Provider::all().into_iter().filter(has_traces).collect()
}
