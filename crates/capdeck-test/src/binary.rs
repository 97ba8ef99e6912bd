//! Finds programs of this workspace that tests start, building them when they are missing or old.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::SystemTime,
};

/// The path of the fake MCP server, ready to start.
pub fn fake_mcp_server() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built_binary("capdeck-test", "fake-mcp-server")).clone()
}

/// The path of the program that code mode's workers are in tests, ready to start.
pub fn sandbox_worker() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let crates = workspace_root().join("crates");
        let sources = ["capdeck-sandbox", "capdeck-catalog"];
        let sources = sources.map(|package| crates.join(package).join("src"));
        let kind = ["--example", "worker"];
        built("capdeck-sandbox", kind, &profile_folder().join("examples"), &sources)
    };
    BUILT.get_or_init(build).clone()
}

/// The path of `name` from `package`, in the same profile folder as the running test.
///
/// Cargo hands `CARGO_BIN_EXE_…` only to tests of the package that owns the binary, so tests of other
/// packages look beside themselves. A program older than its sources is built again.
pub fn built_binary(package: &str, name: &str) -> PathBuf {
    built(package, ["--bin", name], &profile_folder(), &sources_of(package))
}

/// Builds a program into a folder if it is older than these sources.
fn built(package: &str, what: [&str; 2], folder: &Path, sources: &[PathBuf]) -> PathBuf {
    let profile = profile_folder();
    let [kind, name] = what;
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if is_current(&path, sources) {
        return path;
    }
    let mut build = Command::new(env!("CARGO"));
    build
        .current_dir(workspace_root())
        .args(["build", "--quiet", "--package", package, kind, name, "--target-dir"])
        .arg(profile.parent().expect("a profile folder has a target folder above it"));
    if profile.file_name().is_some_and(|folder| folder == "release") {
        build.arg("--release");
    }
    let status = build.status().expect("cargo starts");
    assert!(status.success(), "`cargo build --package {package} {kind} {name}` failed: {status}");
    // When only tests changed cargo leaves the program as it is; it is current nevertheless.
    File::open(&path).and_then(|program| program.set_modified(SystemTime::now())).unwrap();
    path
}

/// The root of the workspace these sources are part of.
pub(crate) fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("crates/capdeck-test is two levels down").to_path_buf()
}

fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the running test has a path");
    let folder = test.parent().expect("a program is in a folder");
    // Test programs are in `deps`, the binaries of the same build one level up.
    let above_deps = folder.file_name().is_some_and(|name| name == "deps" || name == "examples");
    if above_deps { folder.parent().expect("`deps` has a parent") } else { folder }.to_path_buf()
}

/// The source folders a program is made from: this crate needs the wire, the binary needs all others.
fn sources_of(package: &str) -> Vec<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = workspace_root().join("crates");
    if ours.ends_with(package) {
        return vec![ours.join("src"), crates.join("capdeck-mcp/src")];
    }
    let crates = crates.read_dir().expect("the workspace has crates");
    let others = crates.filter_map(Result::ok).map(|entry| entry.path());
    others.filter(|folder| folder != ours).map(|folder| folder.join("src")).collect()
}

fn is_current(program: &Path, sources: &[PathBuf]) -> bool {
    let Ok(built) = program.metadata().and_then(|metadata| metadata.modified()) else {
        return false;
    };
    sources.iter().filter_map(|folder| newest(folder)).all(|changed| changed <= built)
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = folder.read_dir().ok()?.filter_map(Result::ok);
    entries
        .filter_map(|entry| match entry.file_type().ok()? {
            kind if kind.is_dir() => newest(&entry.path()),
            _ => entry.metadata().ok()?.modified().ok(),
        })
        .max()
}
