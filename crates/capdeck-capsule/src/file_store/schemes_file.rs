//! The schemes of one capsule: `schemes.json`.

use std::io;

use super::{engine::StoreEngine, layout::CapsuleLayout};
use crate::{AuditLogLine, ChangeAuthor, Scheme, StoreError, StoreResult, scheme::SchemeOrigin};

/// The lock of the file. No entry has such a name.
const SCHEMES_STRIPE: &str = "schemes.json";

/// All schemes of a capsule: the built-in ones, those of the registry, its own.
pub(super) fn load(layout: &CapsuleLayout, registry: &[Scheme]) -> StoreResult<Vec<Scheme>> {
    let mut known = Scheme::builtin();
    for scheme in registry {
        scheme.check(&known)?;
        known.push(Scheme { origin: SchemeOrigin::Registry, ..scheme.clone() });
    }
    let text = capdeck_storage::read_if_exists(&layout.schemes());
    let own = text.and_then(|text| {
        let text = text.as_deref().unwrap_or(b"[]");
        serde_json::from_slice::<Vec<Scheme>>(text).map_err(io::Error::other)
    });
    for scheme in own.map_err(StoreError::io("read the capsule's schemes"))? {
        // One that the registry has declared since is the registry's.
        if scheme.check(&known).is_ok() {
            known.push(Scheme { origin: SchemeOrigin::Capsule, ..scheme });
        }
    }
    Ok(known)
}

impl StoreEngine {
    pub(crate) fn add_scheme(&self, scheme: Scheme, by: &ChangeAuthor) -> StoreResult<()> {
        self.files.writable()?;
        let scheme = Scheme { origin: SchemeOrigin::Capsule, ..scheme };
        let _schemes = self.files.stripe(SCHEMES_STRIPE).lock();
        let known = self.state.read().schemes.clone();
        scheme.check_new(&known)?;
        let schemes: Vec<Scheme> = known.into_iter().chain([scheme]).collect();
        self.save_schemes(schemes, self.files.line_of(by, "scheme.add")?)
    }

    pub(crate) fn remove_scheme(&self, name: &str, by: &ChangeAuthor) -> StoreResult<()> {
        self.files.writable()?;
        let _schemes = self.files.stripe(SCHEMES_STRIPE).lock();
        let state = self.state.read();
        let scheme = crate::scheme::find(&state.schemes, name)?;
        if scheme.origin != SchemeOrigin::Capsule {
            return Err(StoreError::invalid(
                "scheme",
                format!("`{name}://` is not the capsule's own"),
            ));
        }
        let entries =
            state.entries.keys().chain(state.deleted.keys()).filter(|uri| uri.scheme() == name);
        let entries = entries.count();
        if entries > 0 {
            return Err(StoreError::SchemeInUse { scheme: name.to_owned(), entries });
        }
        let schemes: Vec<Scheme> =
            state.schemes.iter().filter(|scheme| scheme.name != name).cloned().collect();
        drop(state);
        self.save_schemes(schemes, self.files.line_of(by, "scheme.remove")?)
    }

    fn save_schemes(&self, schemes: Vec<Scheme>, line: AuditLogLine) -> StoreResult<()> {
        let own: Vec<&Scheme> =
            schemes.iter().filter(|scheme| scheme.origin == SchemeOrigin::Capsule).collect();
        let (to, text) = (self.files.layout.schemes(), serde_json::to_vec_pretty(&own));
        let saved = self.files.replace_file(to, text, line, "save the capsule's schemes");
        if saved.as_ref().is_ok() || matches!(saved, Err(StoreError::AuditFailed { .. })) {
            self.state.write().schemes = schemes;
        }
        saved
    }
}
