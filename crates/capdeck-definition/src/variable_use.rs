//! The environment variables that the programs of a definition seem to use and are not given.
//!
//! A guess from what the files name, for proposals: files that were written for a host which hands its whole environment on
//! do not say which variables they count on.

mod programs;

use indexmap::IndexMap;

use crate::{Backend, CmpTool, Definition, Glob, Launcher, ProgramCommand};
use programs::{programs_of, variables_of_package, variables_of_program};

/// A variable that a program seems to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableUse {
    /// The name; `*` and `?` are wildcards.
    pub variable: Glob,
    /// What shows it: a program, a package, or the text of the definition.
    pub evidence: String,
}

/// The variables that the programs of a definition seem to use, without those that the definition gives them by `env` or
/// `passEnv`. A guess: what a program reads is known for many programs, and not for all.
pub fn used_variables(definition: &Definition) -> Vec<VariableUse> {
    let mut found = FoundUses::default();
    match &definition.backend {
        Backend::Mcp(server) => {
            let words = server.command.iter().chain(&server.args).map(String::as_str);
            found.add_command(words, &[&server.env]);
        }
        Backend::Cli(tools) => {
            for action in tools.actions.values() {
                found.add_program(&action.program, &tools.env);
                found.add_text(action.text.description.as_deref());
            }
        }
        Backend::Cmp(tool) => found.add_cmp(tool),
        Backend::Http(_)
        | Backend::OpenApi(_)
        | Backend::GoogleDiscovery(_)
        | Backend::GraphQl(_)
        | Backend::Caplets(_)
        | Backend::Capsules => return Vec::new(),
    }
    if let Some(setup) = &definition.setup {
        for step in setup.commands.iter().chain(&setup.verify) {
            found.add_program(&step.program, &IndexMap::new());
        }
    }
    found.add_text(Some(&definition.description));
    let passed = definition.backend.pass_env();
    let is_passed = |one: &VariableUse| {
        passed.iter().any(|own| *own == one.variable || own.matches(one.variable.as_str()))
    };
    found.uses.retain(|one| !is_passed(one) && !found.given.iter().any(|own| one.is_of(own)));
    found.uses
}

impl VariableUse {
    /// True when this variable is the used one, or one of them.
    pub fn is_of(&self, name: &str) -> bool {
        self.variable.matches(name)
    }
}

#[derive(Debug, Default)]
struct FoundUses {
    uses: Vec<VariableUse>,
    /// What the definition sets itself.
    given: Vec<String>,
}

impl FoundUses {
    fn add(&mut self, variable: &str, evidence: &str) {
        if !self.uses.iter().any(|known| known.variable.as_str() == variable) {
            let evidence = evidence.to_owned();
            self.uses.push(VariableUse { variable: Glob::new(variable), evidence });
        }
    }

    fn add_program(&mut self, program: &ProgramCommand, shared: &IndexMap<String, String>) {
        let words = [&program.command].into_iter().chain(&program.args).map(String::as_str);
        self.add_command(words, &[shared, &program.env]);
    }

    fn add_cmp(&mut self, tool: &CmpTool) {
        for intent in tool.intents.values() {
            let words: Vec<String> =
                intent.command.words().iter().map(ToString::to_string).collect();
            self.add_command(words.iter().map(String::as_str), &[]);
        }
    }

    fn add_command<'a>(
        &mut self,
        words: impl IntoIterator<Item = &'a str>,
        given: &[&IndexMap<String, String>],
    ) {
        let words: Vec<&str> = words.into_iter().collect();
        self.given.extend(given.iter().flat_map(|layer| layer.keys().cloned()));
        self.add_container_variables(&words);
        for program in programs_of(&words) {
            for variable in variables_of_program(&program) {
                self.add(&variable, &format!("`{}`", program.name));
            }
        }
        let (command, args) =
            words.split_first().map_or(("", [].as_slice()), |(one, rest)| (*one, rest));
        if let Some(package) =
            Launcher::of(command, args.iter().copied()).and_then(|one| one.package)
        {
            for variable in variables_of_package(&package) {
                self.add(&variable, &format!("`{package}`"));
            }
        }
        for word in args {
            self.add_text(Some(word));
        }
    }

    /// `docker run -e NAME` hands a variable on that the launcher itself must have.
    fn add_container_variables(&mut self, words: &[&str]) {
        for pair in words.windows(2) {
            if let ["-e" | "--env", name] = pair
                && is_variable_name(name)
            {
                self.add(name, &format!("`{} {name}`", pair.first().unwrap_or(&"-e")));
            }
        }
        for name in words.iter().filter_map(|word| word.strip_prefix("--env=")) {
            if is_variable_name(name) {
                self.add(name, &format!("`--env={name}`"));
            }
        }
    }

    /// Names in capital letters with a `_`, as variables are written in texts, and `$NAME` in a shell line.
    fn add_text(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        let is_part = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
        for (place, word) in words_in(text, is_part) {
            let before = text.get(..place).unwrap_or_default();
            // A reference is replaced before the program starts, so the program needs no variable for it.
            if before.ends_with("${") || before.ends_with("$env:") || before.ends_with("vault:") {
                continue;
            }
            let is_shell_variable = before.ends_with('$') && is_constant(word);
            if is_shell_variable || (word.contains('_') && is_constant(word)) {
                self.add(word, "its text");
            }
        }
    }
}

/// The runs of letters in a text, each with its place.
fn words_in(
    text: &str,
    is_part: impl Fn(char) -> bool + Copy,
) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text.get(rest..)?.find(is_part)?;
        let tail = text.get(start..)?;
        let length = tail.find(|letter| !is_part(letter)).unwrap_or(tail.len());
        rest = start + length;
        Some((start, tail.get(..length)?))
    })
}

fn is_constant(word: &str) -> bool {
    word.len() >= 3
        && word.starts_with(|letter: char| letter.is_ascii_uppercase())
        && word.ends_with(|letter: char| letter.is_ascii_alphanumeric())
        && !word.contains(|letter: char| letter.is_ascii_lowercase())
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter == '_' || letter.is_ascii_alphabetic())
        && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{Deck, SourceFile, SourceFormat, SourceLayer};

    fn used(front: &str) -> Vec<String> {
        let text = format!("---\nname: One\ndescription: A thing to try.\n{front}\n---\n");
        let file = SourceFile {
            path: PathBuf::from("/deck/one.md"),
            layer: SourceLayer::UserFile,
            format: SourceFormat::Caplet { id: "one".to_owned() },
            text: Ok(text),
        };
        let deck = Deck::from_sources(vec![file]);
        let definition =
            deck.definitions.first().unwrap_or_else(|| panic!("{:?}", deck.diagnostics));
        used_variables(definition).iter().map(|one| one.variable.as_str().to_owned()).collect()
    }

    #[track_caller]
    fn check(front: &str, expected: &[&str], absent: &[&str]) {
        let found = used(front);
        for name in expected {
            assert!(found.iter().any(|one| one == name), "{name} is not in {found:?} of {front}");
        }
        for name in absent {
            let is_found = found.iter().any(|one| Glob::new(one.as_str()).matches(name));
            assert!(!is_found, "{name} is in {found:?} of {front}");
        }
    }

    #[test]
    fn programs_show_which_variables_they_read() {
        let cli = |command: &str| format!("cliTools: {{actions: {{a: {{command: {command}}}}}}}");
        check(&cli("gh, args: [pr, list]"), &["GH_TOKEN", "GITHUB_TOKEN"], &["SSH_AUTH_SOCK"]);
        check(&cli("git, args: [status]"), &["GIT_*"], &["SSH_AUTH_SOCK", "GH_TOKEN"]);
        check(&cli("git, args: [push]"), &["SSH_AUTH_SOCK"], &[]);
        check(&cli("git, args: ['$input.what']"), &["SSH_AUTH_SOCK"], &[]);
        check(&cli("/usr/bin/ssh, args: [host]"), &["SSH_AUTH_SOCK"], &[]);
        check(&cli("aws, args: [s3, ls]"), &["AWS_*"], &["KUBECONFIG"]);
        check(&cli("kubectl"), &["KUBECONFIG"], &["AWS_PROFILE"]);
        check(&cli("pytest"), &["VIRTUAL_ENV"], &[]);
        check(
            &cli("bash, args: [-c, 'cd x && KUBE=1 kubectl get po | grep $MINE']"),
            &["KUBECONFIG", "MINE"],
            &["KUBE"],
        );
        check(&cli("node, args: [-e, 'fetch(process.env.API_BASE)']"), &["API_BASE"], &[]);
        check(&cli("uname"), &[], &["HOME", "PATH", "GH_TOKEN"]);
    }

    #[test]
    fn packages_containers_and_texts_show_more() {
        let server = |words: &str| format!("mcpServer: {words}");
        check(&server("{command: uvx, args: [mcp-proxy-for-aws==1.6.2]}"), &["AWS_*"], &[]);
        check(
            &server("{command: npx, args: [-y, '@scope/server-github']}"),
            &["GITHUB_*"],
            &["SCOPE_X", "SERVER_X"],
        );
        check(
            &server("{command: docker, args: [run, -i, -e, TOKEN, --env=OTHER, -e, SET=1, mcp/x]}"),
            &["TOKEN", "OTHER", "DOCKER_*"],
            &["SET"],
        );
        check(
            &server("{command: serve}\nsetup: {verify: [{label: ok, command: aws}]}"),
            &["AWS_*"],
            &[],
        );
        check(
            "mcpServer: {command: serve, args: ['${MY_KEY}', '$env:MY_OTHER', '$vault:MY_THIRD']}",
            &[],
            &["MY_KEY", "MY_OTHER", "MY_THIRD"],
        );
        check("mcpServer: {url: 'https://a.example/mcp'}", &[], &["GH_TOKEN"]);
    }

    #[test]
    fn what_a_definition_gives_is_not_proposed() {
        check(
            "mcpServer: {command: gh, env: {GH_TOKEN: x}, passEnv: ['GITHUB_*']}",
            &["GH_HOST"],
            &["GH_TOKEN", "GITHUB_TOKEN"],
        );
        check(
            "cliTools: {env: {KUBECONFIG: /k}, actions: {a: {command: kubectl}}}",
            &[],
            &["KUBECONFIG"],
        );
        check(
            "cliTools: {passEnv: ['AWS_*'], actions: {a: {command: aws}}}",
            &[],
            &["AWS_PROFILE"],
        );
    }
}
