//! `capdeck artifacts`: large results that were kept as files.

mod delete;
mod list;
mod prune;
mod read;

use clap::Subcommand;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Large results: list, read and remove them
///
/// A result too large or too binary to send inline is kept as a file and named by a URI. Old ones are removed by
/// age and by total size.
#[derive(Debug, clap::Args)]
pub(crate) struct ArtifactsArgs {
    #[command(subcommand)]
    command: ArtifactsCommand,
}

#[derive(Debug, Subcommand)]
enum ArtifactsCommand {
    List(list::ListArgs),
    Read(read::ReadArgs),
    Delete(delete::DeleteArgs),
    Prune(prune::PruneArgs),
}

pub(crate) fn run(args: &ArtifactsArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        ArtifactsCommand::List(args) => list::run(args, context),
        ArtifactsCommand::Read(args) => read::run(args, context),
        ArtifactsCommand::Delete(args) => delete::run(args, context),
        ArtifactsCommand::Prune(args) => prune::run(args, context),
    }
}

/// `3 artifacts`.
fn counted(count: usize) -> String {
    format!("{count} {}", if count == 1 { "artifact" } else { "artifacts" })
}

/// `1.2 MiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if tenths < 10_240 {
            break;
        }
        (tenths, unit) = (tenths / 1024, larger);
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1.0 MiB"),
            (100 << 20, "100.0 MiB"),
            (3 << 40, "3.0 TiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
