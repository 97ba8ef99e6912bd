//! A deck as text, for comparing whole results.

use std::fmt::Write as _;
use std::path::Path;

use capdeck_definition::{Deck, DiagnosticSeverity};

/// Every diagnostic, everything quarantined and every id, with paths relative to `base`.
pub(crate) fn render(deck: &Deck, base: &Path) -> String {
    let mut text = String::new();
    for diagnostic in &deck.diagnostics {
        let severity = match diagnostic.severity {
            DiagnosticSeverity::Error => "error",
            DiagnosticSeverity::Warning => "warning",
        };
        let file = diagnostic.file.strip_prefix(base).unwrap_or(&diagnostic.file).display();
        let place = format!("{file}:{}:{}", diagnostic.line, diagnostic.column);
        writeln!(text, "{severity} {place} {}: {}", diagnostic.code, diagnostic.message).unwrap();
        if let Some(fix) = &diagnostic.fix {
            writeln!(text, "    fix: {fix}").unwrap();
        }
    }
    for entry in &deck.quarantined {
        writeln!(text, "quarantined {}: {}", entry.id, entry.reason).unwrap();
    }
    for definition in &deck.definitions {
        let disabled = if definition.disabled { " (disabled)" } else { "" };
        writeln!(text, "defined {}{disabled}", definition.id).unwrap();
    }
    text.replace(&format!("{}/", base.display()), "")
}
