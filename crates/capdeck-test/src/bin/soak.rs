//! `soak [--minutes N | --seconds N] [--clients N]` runs the soak; `soak render` writes the last figures into the documents.
//!
//! Started by `bench/soak`, which builds everything first.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    clippy::exit,
    reason = "a measuring program: it prints, and what it finds decides how it ends"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use capdeck_test::soak::{SoakFigures, SoakSettings, render_soak, replace_soak_block, run};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["render"] {
        return write_blocks();
    }
    let (mut seconds, mut clients) = (600, 50);
    for option in arguments.chunks(2) {
        let [name, value] = option else { panic!("{USAGE}") };
        let number: usize = value.parse().unwrap();
        match name.as_str() {
            "--minutes" => seconds = number as u64 * 60,
            "--seconds" => seconds = number as u64,
            "--clients" => clients = number,
            _ => panic!("{USAGE}"),
        }
    }
    soak(Duration::from_secs(seconds), clients);
}

const USAGE: &str = "usage: soak [--minutes N | --seconds N] [--clients N] | soak render";

fn soak(duration: Duration, clients: usize) {
    let settings = SoakSettings {
        duration,
        clients,
        timeout: Duration::from_secs(2),
        calm: Duration::from_secs(60),
        judges_memory: true,
    };
    let figures = run(settings, &|what| eprintln!("{what}"));
    fs::write(results(), serde_json::to_string_pretty(&figures).unwrap() + "\n").unwrap();
    println!("{}", render_soak(&figures));
    if figures.violations.is_empty() {
        eprintln!(
            "written to bench/results/soak.json; `bench/soak render` puts it into the documents"
        );
        return;
    }
    for violation in &figures.violations {
        eprintln!("violation: {violation}");
    }
    std::process::exit(1);
}

fn write_blocks() {
    let figures: SoakFigures =
        serde_json::from_str(&fs::read_to_string(results()).unwrap()).unwrap();
    let document = root().join("bench/README.md");
    let text = fs::read_to_string(&document).unwrap();
    if let Some(replaced) = replace_soak_block(&text, &render_soak(&figures)) {
        fs::write(&document, replaced).unwrap();
        eprintln!("wrote the figures into {}", document.display());
    }
}

fn results() -> PathBuf {
    root().join("bench/results/soak.json")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}
