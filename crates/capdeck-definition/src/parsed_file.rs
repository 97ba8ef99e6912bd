//! What one file yields.

use crate::{
    CapabilityFile, Definition, Diagnostic, QuarantinedItem, SourceFile, SourceFormat,
    capability_file::parse_capabilities,
    caplet::parse_caplet,
    cmp::parse_cmp,
    config::parse_config,
    definition_draft::FileOrigin,
    diagnostic::{FileFindings, TextPosition},
    shape::config_file::ConfigFile,
};

/// Everything one file yields. A broken file yields diagnostics and what is quarantined.
#[derive(Debug, Default)]
pub(crate) struct ParsedFile {
    pub(crate) definitions: Vec<LocatedDefinition>,
    pub(crate) quarantined: Vec<QuarantinedItem>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The options of a config file, without its entries.
    pub(crate) options: Option<ConfigFile>,
    /// A capability file, whose definitions are among the others.
    pub(crate) capability_file: Option<CapabilityFile>,
}

/// A definition and where its file declares it.
#[derive(Debug)]
pub(crate) struct LocatedDefinition {
    pub(crate) definition: Definition,
    pub(crate) place: TextPosition,
}

/// Parses one file as what it is.
pub(crate) fn parse(file: &SourceFile, origin: &FileOrigin<'_>) -> ParsedFile {
    let name = match &file.format {
        SourceFormat::Caplet { id } => id.clone(),
        SourceFormat::Config | SourceFormat::CapabilityFile => file_name(file),
        // Two files, each with findings of its own.
        SourceFormat::Cmp(files) => return parse_cmp(&file.text, files, origin),
    };
    match &file.text {
        Err(diagnostic) => ParsedFile {
            quarantined: vec![origin.quarantine(&name, &diagnostic.message)],
            diagnostics: vec![diagnostic.clone()],
            ..ParsedFile::default()
        },
        Ok(text) => {
            let mut findings = FileFindings::new(&file.path);
            let mut parsed = match &file.format {
                SourceFormat::Config => parse_config(text, &name, origin, &mut findings),
                SourceFormat::CapabilityFile => {
                    parse_capabilities(text, &name, origin, &mut findings)
                }
                SourceFormat::Caplet { .. } | SourceFormat::Cmp(_) => {
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
