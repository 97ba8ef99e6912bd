//! What one file yields.

use crate::{
    CapabilityFile, Definition, Diagnostic, Format, Quarantined, SourceFile,
    capa::parse_capabilities,
    caplet::parse_caplet,
    cmp::parse_cmp,
    config::parse_config,
    diagnostic::{Findings, Place},
    draft::Origin,
    shape::config_file::ConfigFile,
};

/// Everything one file yields. A broken file yields diagnostics and what is quarantined.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) definitions: Vec<Placed>,
    pub(crate) quarantined: Vec<Quarantined>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The options of a config file, without its entries.
    pub(crate) options: Option<ConfigFile>,
    /// A capability file, whose definitions are among the others.
    pub(crate) capability_file: Option<CapabilityFile>,
}

/// A definition and where its file declares it.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) definition: Definition,
    pub(crate) place: Place,
}

/// Parses one file as what it is.
pub(crate) fn parse(file: &SourceFile, origin: &Origin<'_>) -> Parsed {
    let name = match &file.format {
        Format::Caplet { id } => id.clone(),
        Format::Config | Format::CapabilityFile => file_name(file),
        // Two files, each with findings of its own.
        Format::Cmp(files) => return parse_cmp(&file.text, files, origin),
    };
    match &file.text {
        Err(diagnostic) => Parsed {
            quarantined: vec![origin.quarantine(&name, &diagnostic.message)],
            diagnostics: vec![diagnostic.clone()],
            ..Parsed::default()
        },
        Ok(text) => {
            let mut findings = Findings::new(&file.path);
            let mut parsed = match &file.format {
                Format::Config => parse_config(text, &name, origin, &mut findings),
                Format::CapabilityFile => parse_capabilities(text, &name, origin, &mut findings),
                Format::Caplet { .. } | Format::Cmp(_) => {
                    parse_caplet(text, &name, origin, &mut findings)
                }
            };
            parsed.diagnostics = findings.into_diagnostics();
            parsed
        }
    }
}

fn file_name(file: &SourceFile) -> String {
    file.path
        .file_name()
        .map_or_else(|| "config".to_owned(), |name| name.to_string_lossy().into_owned())
}
