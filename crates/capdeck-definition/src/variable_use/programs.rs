//! Which programs a command runs, and which variables well-known programs read.

use std::collections::BTreeSet;

use crate::backend::launcher::{MAX_WRAPPERS, is_assignment, program_name, unwrapped};

/// A program of a command, with the words after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunProgram {
    pub(super) name: String,
    arguments: Vec<String>,
}

/// Programs, and the variables that each of them reads. The variables of a launcher for its packages reach it anyway.
const READERS: &[(&[&str], &[&str])] = &[
    (&["gh"], &["GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "GH_REPO", "GH_CONFIG_DIR"]),
    (&["glab"], &["GITLAB_TOKEN", "GITLAB_HOST"]),
    (&["ssh", "scp", "sftp", "rsync", "ansible", "ansible-playbook", "mosh"], &["SSH_AUTH_SOCK"]),
    (&["sam", "cdk", "eksctl", "copilot", "awslocal"], &["AWS_*"]),
    (&["terraform", "tofu", "terragrunt"], &["TF_*", "AWS_*", "ARM_*", "GOOGLE_*"]),
    (
        &[
            "kubectl",
            "helm",
            "k9s",
            "kustomize",
            "flux",
            "argocd",
            "istioctl",
            "oc",
            "stern",
            "kubectx",
            "kubens",
        ],
        &["KUBECONFIG"],
    ),
    (&["az", "azd", "func"], &["AZURE_*", "ARM_*"]),
    (&["gcloud", "gsutil", "bq"], &["CLOUDSDK_*", "GOOGLE_*"]),
    (
        &[
            "python", "python3", "pip", "pip3", "pytest", "poetry", "pdm", "ruff", "mypy", "tox",
            "nox", "uv",
        ],
        &["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"],
    ),
    (
        &["npm", "pnpm", "yarn", "npx", "bun", "bunx", "node", "deno", "tsx"],
        &["NODE_OPTIONS", "NODE_PATH"],
    ),
    (&["npm", "pnpm", "yarn", "npx", "bun", "bunx"], &["NPM_TOKEN", "NODE_AUTH_TOKEN"]),
    (&["cargo", "rustc"], &["RUSTFLAGS", "CARGO_*"]),
    (&["psql", "pg_dump", "pg_restore", "createdb", "dropdb"], &["PG*", "DATABASE_URL"]),
    (&["mysql", "mysqldump"], &["MYSQL_*", "DATABASE_URL"]),
    (&["redis-cli"], &["REDISCLI_AUTH"]),
    (&["fly", "flyctl"], &["FLY_*"]),
    (&["doctl"], &["DIGITALOCEAN_*"]),
    (&["wrangler"], &["CLOUDFLARE_*"]),
    (&["sentry-cli"], &["SENTRY_*"]),
    (&["mvn", "gradle"], &["MAVEN_*", "GRADLE_*"]),
];

/// What `git` does with another machine, for which it may need a key.
const GIT_REMOTE: [&str; 8] =
    ["push", "pull", "fetch", "clone", "ls-remote", "submodule", "remote", "archive"];

/// Words of names that say nothing about whose variables are read.
const COMMON_WORDS: [&str; 22] = [
    "mcp",
    "server",
    "servers",
    "cli",
    "tools",
    "tool",
    "api",
    "proxy",
    "for",
    "the",
    "latest",
    "modelcontextprotocol",
    "sh",
    "bash",
    "zsh",
    "dash",
    "env",
    "run",
    "user",
    "home",
    "path",
    "test",
];

/// The programs that a command runs: itself, what it wraps, and those of a shell line.
pub(super) fn programs_of(words: &[&str]) -> Vec<RunProgram> {
    let mut programs = Vec::new();
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for _ in 0..=MAX_WRAPPERS {
        let Some((first, arguments)) = words.split_first() else { break };
        add(&mut programs, first, arguments);
        for line in arguments.iter().filter(|word| word.contains(char::is_whitespace)) {
            for part in line.split(['&', ';', '|', '\n', '(', ')']) {
                let inside = part.split_whitespace().skip_while(|word| is_assignment(word));
                let inside: Vec<String> = inside.map(str::to_owned).collect();
                if let Some((first, arguments)) = inside.split_first() {
                    add(&mut programs, first, arguments);
                }
            }
        }
        match unwrapped(&words) {
            Some(inner) => words = inner,
            None => break,
        }
    }
    programs
}

fn add(programs: &mut Vec<RunProgram>, program: &str, arguments: &[String]) {
    let found = RunProgram { name: program_name(program), arguments: arguments.to_vec() };
    if !programs.contains(&found) {
        programs.push(found);
    }
}

/// What the program reads, and what is called like it.
pub(super) fn variables_of_program(program: &RunProgram) -> BTreeSet<String> {
    let name = program.name.as_str();
    let rows = READERS.iter().filter(|(programs, _)| programs.contains(&name));
    let mut variables: BTreeSet<String> =
        rows.flat_map(|(_, variables)| variables.iter().map(|name| (*name).to_owned())).collect();
    if name == "git" && reaches_remote(&program.arguments) {
        variables.insert("SSH_AUTH_SOCK".to_owned());
    }
    variables.extend(own_variables(name));
    variables
}

fn reaches_remote(arguments: &[String]) -> bool {
    let command = arguments.iter().find(|word| !word.starts_with('-'));
    command.is_some_and(|word| GIT_REMOTE.contains(&word.as_str()) || word.contains(['$', '{']))
}

/// What a package reads, by the words of its name.
pub(super) fn variables_of_package(package: &str) -> BTreeSet<String> {
    let name = package.rsplit('/').next().unwrap_or(package);
    let scope = package.strip_prefix('@').and_then(|rest| rest.split('/').next());
    let mut variables = BTreeSet::new();
    for word in name.split(|letter: char| !letter.is_ascii_alphanumeric()).chain(scope) {
        match word.to_ascii_lowercase().as_str() {
            "aws" | "awslabs" => drop(variables.insert("AWS_*".to_owned())),
            "kubernetes" | "kubectl" | "k8s" => drop(variables.insert("KUBECONFIG".to_owned())),
            "github" => drop(variables.insert("GH_TOKEN".to_owned())),
            "gcp" | "gcloud" => drop(variables.insert("GOOGLE_*".to_owned())),
            "mongodb" => drop(variables.insert("MDB_MCP_*".to_owned())),
            "postgres" => drop(variables.insert("PG*".to_owned())),
            _ => {}
        }
    }
    variables.extend(own_variables(name));
    variables
}

/// Variables that begin with a word of a name: `SLACK_*` of `slack-mcp-server`.
fn own_variables(name: &str) -> impl Iterator<Item = String> {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let telling = words.filter(|word| {
        word.len() >= 3
            && word.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && !COMMON_WORDS.contains(&word.to_ascii_lowercase().as_str())
    });
    telling.map(|word| format!("{}_*", word.to_ascii_uppercase()))
}
