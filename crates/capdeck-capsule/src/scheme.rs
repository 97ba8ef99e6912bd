//! The schemes of a capsule: built-in ones, those of the registry, and those of one capsule.

use capdeck_access::{check_scheme, is_device_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EntryUri, StoreError, StoreResult, UriError, entry::RiskClass};

/// Custom schemes one capsule may have.
const MAX_CUSTOM_SCHEMES: usize = 64;

/// Names that mean something else to clients, which open addresses: of the web, of files, of other programs.
const FOREIGN_SCHEMES: [&str; 21] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "ftp",
    "ftps",
    "git",
    "http",
    "https",
    "irc",
    "javascript",
    "ldap",
    "mailto",
    "sftp",
    "ssh",
    "tel",
    "urn",
    "view-source",
    "ws",
    "wss",
];
/// Names that this host and MCP give to addresses of their own.
const HOST_SCHEMES: [&str; 7] = ["capdeck", "capsol", "capsule", "capsules", "mcp", "skill", "ui"];

/// A kind of entry in a capsule: its format and what its entries are offered as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub format: BodyFormat,
    /// Whether its entries are offered as prompts.
    #[serde(default)]
    pub prompt_source: bool,
    /// The class of entries whose writer names none, instead of what the body shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_risk_class: Option<RiskClass>,
    #[serde(default)]
    pub origin: SchemeOrigin,
}

/// How the bodies of a scheme look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Format")]
pub enum BodyFormat {
    #[default]
    Markdown,
    Json,
    Text,
}

/// Who declared a scheme.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Origin")]
pub enum SchemeOrigin {
    Builtin,
    Registry,
    #[default]
    Capsule,
}

/// The declaration of a scheme cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    #[error(transparent)]
    Name(#[from] UriError),
    #[error("`{name}://` is built in and cannot be declared again")]
    Builtin { name: String },
    #[error("`{name}://` is declared already")]
    Declared { name: String },
    #[error("`{name}://` is reserved: {reason}; choose another name")]
    Reserved { name: String, reason: &'static str },
    #[error("no more than {MAX_CUSTOM_SCHEMES} schemes can be added")]
    TooMany,
    #[error("the list of schemes is neither JSON nor a comma list: {reason}")]
    Unreadable { reason: String },
}

impl BodyFormat {
    /// The ending of files in this format.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Text => "txt",
        }
    }

    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Markdown => "text/markdown",
            Self::Json => "application/json",
            Self::Text => "text/plain",
        }
    }
}

impl Scheme {
    /// A Markdown scheme with nothing but a name.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: String::new(),
            description: String::new(),
            format: BodyFormat::Markdown,
            prompt_source: false,
            default_risk_class: None,
            origin: SchemeOrigin::Capsule,
        }
    }

    pub fn builtin() -> Vec<Self> {
        const BUILTIN: [(&str, &str, &str); 6] = [
            ("docs", "Documentation", "reference: architecture, APIs, how things work"),
            ("guidance", "Guidance", "patterns and conventions to follow"),
            ("notes", "Notes", "findings of an investigation"),
            ("config", "Configuration", "environments, flags, deployment targets"),
            ("api-data", "API data", "schemas and data models, as JSON"),
            ("skills", "Skills", "reusable prompts"),
        ];
        let scheme = |(name, title, description): (&str, &str, &str)| Self {
            title: title.to_owned(),
            description: description.to_owned(),
            format: if name == "api-data" { BodyFormat::Json } else { BodyFormat::Markdown },
            prompt_source: name == "skills",
            origin: SchemeOrigin::Builtin,
            ..Self::named(name)
        };
        BUILTIN.map(scheme).into()
    }

    /// Reads schemes for all capsules of a registry: a JSON array of declarations, or names separated by commas.
    pub fn parse_registry_list(text: &str) -> Result<Vec<Self>, SchemeError> {
        let text = text.trim();
        let unreadable =
            |error: serde_json::Error| SchemeError::Unreadable { reason: error.to_string() };
        let mut declared: Vec<Self> = if text.starts_with('[') {
            serde_json::from_str(text).map_err(unreadable)?
        } else {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(Self::named).collect()
        };
        let mut known = Self::builtin();
        for scheme in &mut declared {
            scheme.origin = SchemeOrigin::Registry;
            scheme.check_new(&known)?;
            known.push(scheme.clone());
        }
        Ok(declared)
    }

    pub(crate) fn check_body(&self, uri: &EntryUri, body: &str) -> StoreResult<()> {
        if self.format != BodyFormat::Json {
            return Ok(());
        }
        let parsed = serde_json::from_str::<serde::de::IgnoredAny>(body);
        parsed.map(drop).map_err(|error| StoreError::InvalidJson {
            uri: uri.clone(),
            reason: error.to_string(),
        })
    }

    /// Checks a declaration that is made now. One that was made before a name was reserved stays.
    pub(crate) fn check_new(&self, known: &[Self]) -> Result<(), SchemeError> {
        self.check(known)?;
        let name = self.name.as_str();
        let reason = if FOREIGN_SCHEMES.contains(&name) {
            "clients take such an address for something outside of the capsule"
        } else if HOST_SCHEMES.contains(&name) {
            "the host's own addresses begin with it"
        } else if is_device_name(name) {
            "it is the name of a device on some systems"
        } else {
            return Ok(());
        };
        Err(SchemeError::Reserved { name: name.to_owned(), reason })
    }

    /// Checks a declaration against those that there are.
    pub(crate) fn check(&self, known: &[Self]) -> Result<(), SchemeError> {
        let name = self.name.clone();
        check_scheme(&name).map_err(|problem| UriError { text: format!("{name}://"), problem })?;
        match known.iter().find(|scheme| scheme.name == name) {
            Some(scheme) if scheme.origin == SchemeOrigin::Builtin => {
                Err(SchemeError::Builtin { name })
            }
            Some(_) => Err(SchemeError::Declared { name }),
            None if known.len() >= MAX_CUSTOM_SCHEMES => Err(SchemeError::TooMany),
            None => Ok(()),
        }
    }
}

pub(crate) fn find<'a>(schemes: &'a [Scheme], name: &str) -> StoreResult<&'a Scheme> {
    schemes.iter().find(|scheme| scheme.name == name).ok_or_else(|| StoreError::UnknownScheme {
        scheme: name.to_owned(),
        known: schemes.iter().map(|scheme| scheme.name.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_skills_are_prompts_and_only_api_data_is_json_from_the_start() {
        let builtin = Scheme::builtin();
        let prompts: Vec<&str> = builtin
            .iter()
            .filter(|scheme| scheme.prompt_source)
            .map(|scheme| scheme.name.as_str())
            .collect();
        assert_eq!(prompts, ["skills"]);
        let json = builtin.iter().filter(|scheme| scheme.format == BodyFormat::Json);
        assert_eq!(json.map(|scheme| scheme.name.as_str()).collect::<Vec<_>>(), ["api-data"]);
    }

    #[test]
    fn a_registry_list_is_json_or_names() {
        let named = Scheme::parse_registry_list("runbooks, playbooks").unwrap();
        assert_eq!(named.len(), 2);
        let declared = Scheme::parse_registry_list(
            r#"[{"name":"runbooks","format":"text","prompt_source":true}]"#,
        )
        .unwrap();
        assert_eq!(declared[0].format, BodyFormat::Text);
        assert!(declared[0].prompt_source);
        assert_eq!(declared[0].origin, SchemeOrigin::Registry);
    }

    #[test]
    fn bad_declarations_are_refused() {
        let problem = |text: &str| Scheme::parse_registry_list(text).unwrap_err();
        assert_eq!(problem("docs"), SchemeError::Builtin { name: "docs".to_owned() });
        assert_eq!(problem("a, a"), SchemeError::Declared { name: "a".to_owned() });
        assert!(matches!(problem("Bad Name"), SchemeError::Name(_)));
        for name in ["http", "https", "file", "javascript", "capsol", "skill", "con", "lpt1"] {
            let refused = problem(name);
            assert!(matches!(refused, SchemeError::Reserved { .. }), "{name}: {refused}");
        }
        // What the store calls its own files is in other folders.
        let names = "history, entries, trash, knowledge, journal, blobs, x";
        assert_eq!(Scheme::parse_registry_list(names).unwrap().len(), 7);
        assert!(matches!(problem("[{"), SchemeError::Unreadable { .. }));
        assert!(matches!(problem(r#"[{"name":"x","colour":1}]"#), SchemeError::Unreadable { .. }));
    }
}
