//! The client capabilities that a list was made for. A server may offer more to a client that can
//! answer more, so its lists are cached per set of client capabilities and never mixed.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use capdeck_backend::ClientProfile;
use capdeck_storage::sha256_hex;
use serde_json::Value;

use crate::tasks::with_extension;

#[derive(Debug, Clone)]
pub(crate) struct ClientAudience {
    key: AudienceKey,
    client: Arc<ClientProfile>,
    with_tasks: Arc<OnceLock<Arc<ClientProfile>>>,
}

/// Equal for clients that declare the same capabilities, in any order of members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct AudienceKey(Option<Arc<str>>);

/// Clients that declare nothing.
pub(crate) static BARE: AudienceKey = AudienceKey(None);

impl ClientAudience {
    pub(crate) fn new(client: ClientProfile) -> Self {
        let key = if client.capabilities.is_empty() {
            AudienceKey::default()
        } else {
            AudienceKey(Some(fingerprint(&client).into()))
        };
        Self { key, client: Arc::new(client), with_tasks: Arc::default() }
    }

    pub(crate) fn key(&self) -> &AudienceKey {
        &self.key
    }

    pub(crate) fn client(&self) -> &Arc<ClientProfile> {
        &self.client
    }

    /// The client profile for a server whose tasks the host translates.
    pub(crate) fn with_tasks(&self) -> Arc<ClientProfile> {
        let with_tasks = self.with_tasks.get_or_init(|| {
            let capabilities = with_extension(&self.client.capabilities);
            Arc::new(ClientProfile { info: self.client.info.clone(), capabilities })
        });
        Arc::clone(with_tasks)
    }

    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.client.capabilities.contains_key(capability)
    }
}

impl AudienceKey {
    /// True for clients that declare nothing. They see the catalog unchanged.
    pub(crate) fn is_bare(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for AudienceKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_deref().unwrap_or("bare"))
    }
}

fn fingerprint(client: &ClientProfile) -> String {
    let value = serde_json::to_value(&client.capabilities).unwrap_or_default();
    let mut text = String::new();
    write_sorted(&value, &mut text);
    sha256_hex(text).chars().take(16).collect()
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<_> = members.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, member) in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(member, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(capabilities: &str) -> AudienceKey {
        let capabilities = serde_json::from_str(capabilities).unwrap();
        ClientAudience::new(ClientProfile { info: None, capabilities }).key
    }

    #[test]
    fn the_same_capabilities_are_the_same_audience() {
        assert!(key("{}").is_bare());
        let one = key(r#"{"roots":{"listChanged":true},"sampling":{}}"#);
        assert_eq!(one, key(r#"{ "sampling": {}, "roots": {"listChanged": true} }"#));
        assert_ne!(one, key(r#"{"roots":{},"sampling":{}}"#));
        assert_ne!(one, key(r#"{"sampling":{}}"#));
        assert!(!one.is_bare());
    }
}
