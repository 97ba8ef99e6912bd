//! What an agent starts or connects to.

use std::{
    env::split_paths,
    fs,
    path::{Path, PathBuf},
};

use capdeck_install::{ClientEntryTarget, ClientScope, LaunchTarget};
use serde_json::Value;
use url::Url;

use super::EntryLimits;
use crate::{commands::CommandContext, errors::CommandFailure, settings::CommandSettings};

/// How Capdeck is reached, before the agent is known.
#[derive(Debug)]
pub(in crate::commands) struct LaunchSettings {
    url: Option<String>,
    path: String,
    /// The name it has on the `PATH`, where it is the first of that name.
    on_path: Option<PathBuf>,
    /// Flags of this run that the agent's process must have, too.
    flags: Vec<String>,
    /// Flags that limit what the agent is given.
    limits: Vec<String>,
    /// The project that was named, for the person's own files.
    project: Option<String>,
}

const PROGRAM: &str = "capdeck";

impl LaunchSettings {
    pub(in crate::commands) fn resolve(
        url: Option<&str>,
        limits: &EntryLimits,
        settings: &CommandSettings,
        context: &CommandContext<'_>,
    ) -> Result<Self, CommandFailure> {
        let executable = context.env.executable.as_deref().ok_or_else(|| {
            let message = "this program cannot find itself, so no agent could start it";
            CommandFailure::setup("NO_PROGRAM", message)
        })?;
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| {
                CommandFailure::setup("BAD_PATH", format!("`{}` is not UTF-8 text", path.display()))
            })
        };
        let mut flags = Vec::new();
        if context.global.config.is_some() {
            flags.extend(["--config".to_owned(), text(&settings.config_dir)?]);
        }
        let named = context.global.project.as_ref().and(settings.project.as_ref());
        Ok(Self {
            url: url.map(|url| limits.address(&endpoint(url)?)).transpose()?,
            limits: limits.flags(),
            path: text(executable)?,
            on_path: settings.environment.get("PATH").and_then(|path| on_path(path, executable)),
            flags,
            project: named.map(|project| text(&project.dir)).transpose()?,
        })
    }

    /// Whether entries hold a path, which means something on this machine only.
    pub(in crate::commands) fn names_a_path(&self) -> bool {
        self.url.is_none() && self.on_path.is_none()
    }

    pub(in crate::commands) fn entry(&self, target: &ClientEntryTarget) -> Value {
        let command = match &self.on_path {
            // A desktop program does not have the `PATH` of a shell.
            Some(path) if target.client.is_desktop_app => path.to_string_lossy().into_owned(),
            Some(_) => PROGRAM.to_owned(),
            None => self.path.clone(),
        };
        let launch = match &self.url {
            Some(url) => LaunchTarget::Url { url: url.clone(), command },
            None => {
                // Agents start their project's servers in the project; those that have a word for it get it to say it.
                let project = match target.scope {
                    ClientScope::User => self.project.as_deref(),
                    ClientScope::Project => target.client.project_word(),
                };
                let mut args = vec!["serve".to_owned()];
                args.extend(self.flags.iter().chain(&self.limits).cloned());
                args.extend(
                    project.into_iter().flat_map(|dir| ["--project".to_owned(), dir.to_owned()]),
                );
                LaunchTarget::Program { command, args }
            }
        };
        target.client.entry(&target.name, &launch)
    }
}

/// The first program of our name on the `PATH`, if it is this one.
fn on_path(path: &str, executable: &Path) -> Option<PathBuf> {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let found = split_paths(path).map(|dir| dir.join(PROGRAM)).find(|file| file.is_file())?;
    (found.is_absolute() && real(&found) == real(executable)).then_some(found)
}

/// The address of a host's MCP endpoint: `/mcp`, unless a path was given.
fn endpoint(text: &str) -> Result<String, CommandFailure> {
    let bad = |what: &str| {
        CommandFailure::usage(format!("--url: {what}"))
            .hint("use the address that `capdeck up` prints")
    };
    let mut url = Url::parse(text).map_err(|_| bad("this is not an address"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("the address must begin with `http://` or `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("an address with a password would be written into the file in clear"));
    }
    if url.path() == "/" {
        url.set_path("/mcp");
    }
    Ok(url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_the_endpoint() {
        for (given, expected) in [
            ("http://127.0.0.1:7717", Some("http://127.0.0.1:7717/mcp")),
            ("https://deck.example.com/", Some("https://deck.example.com/mcp")),
            ("http://127.0.0.1:7717/views/a/mcp", Some("http://127.0.0.1:7717/views/a/mcp")),
            ("127.0.0.1:7717", None),
            ("ftp://x", None),
            ("http://me:secret@x/", None),
        ] {
            assert_eq!(endpoint(given).ok().as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn only_the_first_program_of_the_name_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        for folder in [&one, &two] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("capdeck"), "").unwrap();
        }
        let path = std::env::join_paths([&one, &two]).unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(on_path(path, &one.join("capdeck")), Some(one.join("capdeck")));
        assert_eq!(on_path(path, &two.join("capdeck")), None);
    }
}
