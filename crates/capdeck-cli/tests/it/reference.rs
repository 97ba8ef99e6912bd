//! `docs/reference/cli.md` is what the binary itself says of its commands.

use std::{fs, path::Path};

use capdeck_test::TestDirs;

use crate::run;

const INTRODUCTION: &str = "# The command line

Written from the binary's own help by `crates/capdeck-cli/tests/it/reference.rs`; run that test with `CAPDECK_UPDATE_DOCS=1` after a change.

Stdout is data, stderr is for people. Every command that prints data takes `--json`: one JSON value, listings as
`{\"items\": […], \"nextCursor\"?: …}`, errors as `{\"error\": {\"code\", \"message\", \"hint\"?, \"details\"?}}`. Names in JSON are in
camelCase; entries of capsules and their audit have the names of their files. `capdeck audit` alone (`capdeck log`) prints one
object per line, so that it can be followed.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the request failed |
| 2 | wrong usage, or a set-up that cannot be read |
| 3 | sign-in needed |
| 4 | another client changed the entry of the capsule first |
| 130 | ended with Ctrl-C; a server (`up`, `serve`, `attach`) that a program ends has 0 |
| 255 | a bug in capdeck |

| variable | meaning |
|---|---|
| `CAPDECK_CONFIG_DIR` | the user deck, and the only one; default `$XDG_CONFIG_HOME/capdeck`, above `$XDG_CONFIG_HOME/caplets` if that exists |
| `CAPDECK_STATE_DIR` | trust, set-ups, sign-ins, vault, artifacts, audit trail; default `$XDG_STATE_HOME/capdeck` |
| `CAPDECK_CACHE_DIR` | known tool lists; default `$XDG_CACHE_HOME/capdeck` |
| `CAPDECK_DATA_DIR` (or `CAPSOL_DATA_DIR`) | capsules; default `$XDG_DATA_HOME/capdeck` |
| `CAPSOL_SCHEMES` | schemes that every capsule has besides the built-in ones: names between commas, or a JSON array |
| `CAPDECK_AUDIT_STRICT` | `1`: nothing more is done with a capsule while a call to it could not be recorded (`docs/guide/audit.md`) |
| `CAPDECK_HOST`, `CAPDECK_PORT` | where `up` listens; flags win, then these, then the user's config |
| `CAPDECK_PUBLIC_URL` (or `CAPSOL_PUBLIC_URL`) | the address `up` is reached at from outside |
| `CAPDECK_ADMIN_KEY` (or `CAPSOL_ADMIN_KEY`) | the key of the owner of `up`, 16 bytes or more; made once where one is needed and none is given |
| `CAPDECK_PRINT_ADMIN_KEY` (or `CAPSOL_PRINT_ADMIN_KEY`) | `1` shows a key that was just made even without a terminal |
| `CAPSOL_TOKEN_TTL_SECONDS` | how long the token of a client that signed in lives |
| `OTEL_EXPORTER_OTLP_ENDPOINT` | a collector that spans of calls to `up` are sent to, as OTLP over HTTP; with `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_SERVICE_NAME`; before `serve.otlp` of the config |
| `CAPDECK_ATTACH_KEY` | the key of the host that `attach` connects to |
| `CAPDECK_KEY_FILE` | the file with the key of the vault; default `vault/key` below the state folder |
| `CAPDECK_LOG` | a log filter such as `info` or `capdeck_host=debug`; the log goes to stderr |
| `CAPLETS_CONFIG`, `CAPLETS_PROJECT_CONFIG` | the `config.json` of an existing Caplets set-up |
| `CAPLETS_ENCRYPTION_KEY`, `CAPLETS_ENCRYPTION_KEY_FILE` | the key of an existing Caplets set-up, used for the vault |
| `CMP_TOOL_PATH` | more CMP tools: the folders of single tools, separated by `:` |
| `VISUAL`, else `EDITOR` | the editor of `capsule edit` |
| `NO_COLOR` | no colours |
";

#[test]
fn the_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let actual = reference();
    #[expect(clippy::disallowed_methods, reason = "the switch of this test, not of the product")]
    let update = std::env::var_os("CAPDECK_UPDATE_DOCS").is_some();
    if update {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &actual).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, actual,
        "docs/reference/cli.md is old; run this test with CAPDECK_UPDATE_DOCS=1"
    );
}

fn reference() -> String {
    let dirs = TestDirs::new();
    let all = run(&dirs, &["help", "--all"]).success().stdout;
    let mut text = format!("{INTRODUCTION}\n## capdeck\n\n{}", block(&all));
    for command in grouped_commands(&all) {
        let whole = help(&dirs, &[&command]);
        text.push_str(&format!("\n## capdeck {command}\n\n{}", block(&own_part(&whole))));
        for inner in commands(&whole) {
            let whole = help(&dirs, &[&command, &inner]);
            text.push_str(&format!(
                "\n### capdeck {command} {inner}\n\n{}",
                block(&own_part(&whole))
            ));
            for innermost in commands(&whole) {
                let whole = help(&dirs, &[&command, &inner, &innermost]);
                text.push_str(&format!(
                    "\n#### capdeck {command} {inner} {innermost}\n\n{}",
                    block(&own_part(&whole))
                ));
            }
        }
    }
    text
}

fn help(dirs: &TestDirs, words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
    run(dirs, &words).success().stdout
}

fn block(text: &str) -> String {
    format!("```text\n{}\n```\n", text.trim_end())
}

/// The names under the headings of `capdeck help --all`.
fn grouped_commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip(1).take_while(|line| *line != "Options:");
    listed
        .filter_map(|line| Some(line.strip_prefix("  ")?.split([' ', ',']).next()?.to_owned()))
        .filter(|name| name != "help")
        .collect()
}

/// The names under `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next().map(str::to_owned))
        // That line repeats this page.
        .filter(|name| name != "help")
        .collect()
}

/// A command's help without the line about the options that every command has.
fn own_part(help: &str) -> String {
    let (before, rest) = help.split_once("\n\nGlobal options: ").unwrap();
    format!("{before}{}", rest.split_once('\n').map_or("", |(_, after)| after))
}
