//! Programs that install a server before they start it: `npx`, `uvx`, `docker run` and their like.

use capdeck_access::NamePattern;

/// A command that installs what it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program: `npx`, `docker`.
    pub program: &'static str,
    /// What it installs, where the arguments name it.
    pub package: Option<String>,
}

struct KnownLauncher {
    program: &'static str,
    /// The subcommands that install. Empty: the program alone does.
    subcommands: &'static [&'static str],
    /// Options whose value is the package.
    package_options: &'static [&'static str],
    values: OptionValues,
}

/// Which options take the next word as their value.
enum OptionValues {
    Only(&'static [&'static str]),
    AllExcept(&'static [&'static str]),
}

const NPM_OPTIONS: OptionValues = OptionValues::Only(&["--registry", "--cache", "--prefix", "-w"]);
const UV_OPTIONS: OptionValues = OptionValues::Only(&[
    "--with",
    "-w",
    "--with-editable",
    "--with-requirements",
    "--python",
    "-p",
    "--index",
    "--index-url",
    "-i",
    "--extra-index-url",
    "--default-index",
    "--directory",
    "--project",
    "--extra",
    "--group",
    "--env-file",
    "--refresh-package",
    "--prerelease",
    "-c",
    "-m",
]);
const CONTAINER_OPTIONS: OptionValues = OptionValues::AllExcept(&[
    "-i",
    "-t",
    "-it",
    "-ti",
    "-d",
    "-P",
    "--rm",
    "--init",
    "--interactive",
    "--tty",
    "--detach",
    "--privileged",
    "--read-only",
    "--publish-all",
    "--quiet",
    "-q",
]);

const fn launcher(
    program: &'static str,
    subcommands: &'static [&'static str],
    package_options: &'static [&'static str],
    values: OptionValues,
) -> KnownLauncher {
    KnownLauncher { program, subcommands, package_options, values }
}

const LAUNCHERS: [KnownLauncher; 13] = [
    launcher("npx", &[], &["-p", "--package"], NPM_OPTIONS),
    launcher("npm", &["exec", "x"], &["-p", "--package"], NPM_OPTIONS),
    launcher("pnpm", &["dlx"], &["--package"], NPM_OPTIONS),
    launcher("pnpx", &[], &["--package"], NPM_OPTIONS),
    launcher("yarn", &["dlx"], &["-p", "--package"], NPM_OPTIONS),
    launcher("bunx", &[], &["-p", "--package"], NPM_OPTIONS),
    launcher("bun", &["x"], &["-p", "--package"], NPM_OPTIONS),
    launcher("uvx", &[], &["--from"], UV_OPTIONS),
    launcher("uv", &["run", "x"], &["--from"], UV_OPTIONS),
    launcher("pipx", &["run"], &["--spec"], OptionValues::Only(&["--python", "--index-url", "-i"])),
    launcher("docker", &["run"], &[], CONTAINER_OPTIONS),
    launcher("podman", &["run"], &[], CONTAINER_OPTIONS),
    launcher("go", &["run"], &[], OptionValues::Only(&["-C", "-tags", "-ldflags", "-mod"])),
];

/// More wrappers around one command than people write.
pub(crate) const MAX_WRAPPERS: usize = 4;

impl Launcher {
    /// True for a variable that says where it finds its packages.
    pub fn reads(&self, variable: &str) -> bool {
        self.variables().iter().any(|pattern| NamePattern::new(pattern).matches(variable))
    }

    fn variables(&self) -> &'static [&'static str] {
        match self.program {
            "npx" | "npm" | "pnpm" | "pnpx" | "yarn" | "bunx" | "bun" => {
                &["npm_config_*", "NPM_CONFIG_*", "PNPM_*", "YARN_*", "BUN_CONFIG_*"]
            }
            "uvx" | "uv" | "pipx" => &["UV_*", "PIP_*", "PIPX_*"],
            "docker" | "podman" => &[
                "DOCKER_CONFIG",
                "DOCKER_CONTEXT",
                "DOCKER_CERT_PATH",
                "DOCKER_TLS_VERIFY",
                "CONTAINER_HOST",
            ],
            "go" => &[
                "GOPROXY",
                "GOPRIVATE",
                "GONOPROXY",
                "GOSUMDB",
                "GONOSUMDB",
                "GOFLAGS",
                "GOCACHE",
                "GOMODCACHE",
            ],
            "deno" => &["DENO_*", "NPM_CONFIG_*"],
            _ => &[],
        }
    }

    /// The launcher that a command is, also behind `cmd /c`, `env NAME=value` or `sh -c`.
    pub fn of<'a>(command: &'a str, args: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut words = vec![command.to_owned()];
        words.extend(args.into_iter().map(str::to_owned));
        for _ in 0..MAX_WRAPPERS {
            if let Some(found) = Self::of_words(&words) {
                return Some(found);
            }
            words = unwrapped(&words)?;
        }
        None
    }

    fn of_words(words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let name = program_name(program);
        if name == "deno" {
            let script = arguments.iter().skip(1).find(|word| !word.starts_with('-'));
            return Some(Self { program: "deno", package: script.map(|text| shown(text)) });
        }
        let known = LAUNCHERS.iter().find(|known| known.program == name)?;
        let arguments = match known.subcommands {
            [] => arguments,
            names => {
                let place = arguments.iter().position(|word| names.contains(&word.as_str()))?;
                arguments.get(place + 1..).unwrap_or_default()
            }
        };
        let package = known.package(arguments).map(shown);
        Some(Self { program: known.program, package })
    }
}

impl KnownLauncher {
    fn package<'a>(&self, arguments: &'a [String]) -> Option<&'a str> {
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word == "--" {
                return words.next();
            }
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, None),
            };
            if self.package_options.contains(&option) {
                return value.or_else(|| words.next());
            }
            if !word.starts_with('-') {
                return Some(word);
            }
            if value.is_none() && self.values.takes_value(word) {
                words.next();
            }
        }
        None
    }
}

impl OptionValues {
    fn takes_value(&self, option: &str) -> bool {
        match self {
            Self::Only(known) => known.contains(&option),
            Self::AllExcept(flags) => !flags.contains(&option),
        }
    }
}

/// The command inside a wrapper. Of any other program it is what follows `--`.
pub(crate) fn unwrapped(words: &[String]) -> Option<Vec<String>> {
    let (program, arguments) = words.split_first()?;
    let rest = |count: usize| arguments.get(count..).map(<[String]>::to_vec);
    match program_name(program).as_str() {
        "cmd" => rest(arguments.iter().take_while(|word| word.starts_with('/')).count()),
        "env" => {
            let is_own = |word: &&String| word.starts_with('-') || is_assignment(word);
            rest(arguments.iter().take_while(is_own).count())
        }
        "nice" | "nohup" | "exec" | "sudo" => {
            rest(arguments.iter().take_while(|word| word.starts_with('-')).count())
        }
        "sh" | "bash" | "zsh" | "dash" => {
            let is_command = |word: &String| {
                word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
            };
            let place = arguments.iter().position(is_command)?;
            Some(last_command(arguments.get(place + 1)?))
        }
        // A file of a capability file may have the whole line in its command.
        _ if program.contains(char::is_whitespace) => {
            let line = program.split_whitespace().map(str::to_owned);
            Some(line.chain(arguments.iter().cloned()).collect())
        }
        _ => rest(arguments.iter().position(|word| word == "--")? + 1),
    }
}

/// The words of the last command of a shell line, without its assignments.
fn last_command(line: &str) -> Vec<String> {
    let last = line.rsplit(['&', ';', '|']).find(|part| !part.trim().is_empty()).unwrap_or(line);
    let words = last.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.skip_while(|word| is_assignment(word) || *word == "exec").map(str::to_owned).collect()
}

pub(crate) fn is_assignment(word: &str) -> bool {
    let is_name = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_name))
}

/// The name of a program without its folder and the endings of Windows.
pub(crate) fn program_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let bare = [".exe", ".cmd", ".bat", ".ps1"].iter().find_map(|end| name.strip_suffix(end));
    bare.map_or(name.clone(), str::to_owned)
}

/// An address may have a password in it.
fn shown(package: &str) -> String {
    match package.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
        }
        None => package.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], program: &str, package: Option<&str>) {
        let (command, args) = line.split_first().unwrap();
        let found = Launcher::of(command, args.iter().copied()).unwrap();
        assert_eq!((found.program, found.package.as_deref()), (program, package), "{line:?}");
    }

    #[test]
    fn launchers_and_what_they_install() {
        let everything = "@modelcontextprotocol/server-everything";
        check(&["npx", "-y", everything], "npx", Some(everything));
        check(&["/usr/local/bin/npx", "-y", "-p", "one@2", "run-it"], "npx", Some("one@2"));
        check(&["npx", "--package=one", "-c", "one --x"], "npx", Some("one"));
        check(&["npm", "exec", "--yes", "--", "one", "x"], "npm", Some("one"));
        check(&["pnpm", "dlx", "one"], "pnpm", Some("one"));
        check(&["yarn", "dlx", "one"], "yarn", Some("one"));
        check(&["bunx", "one@latest"], "bunx", Some("one@latest"));
        check(&["bun", "x", "one"], "bun", Some("one"));
        check(&["uvx", "--python", "3.12", "mcp-server-time"], "uvx", Some("mcp-server-time"));
        let from = ["uvx", "--from", "git+https://user:secret@example.org/a/b", "serve"];
        check(&from, "uvx", Some("git+https://example.org/a/b"));
        check(&["uv", "tool", "run", "one"], "uv", Some("one"));
        check(&["uv", "--directory", "/a", "run", "server.py"], "uv", Some("server.py"));
        check(&["uv", "run", "--with", "mcp[cli]", "mcp", "run", "a.py"], "uv", Some("mcp"));
        check(&["pipx", "run", "--spec", "one==1", "serve"], "pipx", Some("one==1"));
        let docker = ["docker", "run", "-i", "--rm", "-e", "TOKEN", "--name=x", "mcp/fetch", "-v"];
        check(&docker, "docker", Some("mcp/fetch"));
        check(&["podman", "run", "-it", "mcp/time"], "podman", Some("mcp/time"));
        check(&["go", "run", "example.org/a@latest"], "go", Some("example.org/a@latest"));
        check(&["deno", "run", "-A", "jsr:@a/b"], "deno", Some("jsr:@a/b"));
    }

    #[test]
    fn wrappers_are_looked_into() {
        check(&["cmd", "/c", "npx", "-y", "one"], "npx", Some("one"));
        check(&[r"C:\Program Files\nodejs\npx.cmd", "-y", "one"], "npx", Some("one"));
        check(&["env", "-u", "A=1", "B=2", "uvx", "one"], "uvx", Some("one"));
        check(&["sh", "-c", "cd /a && KEY=1 exec npx -y 'one' --x"], "npx", Some("one"));
        check(&["bash", "-lc", "uvx one"], "uvx", Some("one"));
        check(&["op", "run", "--env-file=a", "--", "npx", "one"], "npx", Some("one"));
        check(&["npx -y one", "--verbose"], "npx", Some("one"));
    }

    #[test]
    fn other_programs_install_nothing() {
        for line in [
            &["node", "server.js"][..],
            &["python3", "-m", "server"],
            &["npm", "start"],
            &["uv", "pip", "list"],
            &["docker", "ps"],
            &["sh", "-c", "./serve"],
            &["sh", "run.sh"],
            &["my npx wrapper"],
            &[""],
        ] {
            let (command, args) = line.split_first().unwrap();
            assert_eq!(Launcher::of(command, args.iter().copied()), None, "{line:?}");
        }
    }
}
