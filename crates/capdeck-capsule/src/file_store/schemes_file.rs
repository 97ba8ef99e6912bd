//! The schemes of one capsule: `schemes.json`.

use std::{fs, io};

use super::{
    engine::StoreEngine,
    layout::CapsuleLayout,
    recorder::{ChangeDetails, ChangeRecorder},
};
use crate::{AuditLogLine, Scheme, StoreError, scheme::SchemeOrigin};

/// The lock of the file. No entry has such a name.
const SCHEMES_STRIPE: &str = "schemes.json";

/// All schemes of a capsule: the built-in ones, those of the registry, its own.
pub(super) fn load(layout: &CapsuleLayout, registry: &[Scheme]) -> Result<Vec<Scheme>, StoreError> {
    let mut known = Scheme::builtin();
    for scheme in registry {
        scheme.check(&known)?;
        known.push(Scheme { origin: SchemeOrigin::Registry, ..scheme.clone() });
    }
    let text = match fs::read_to_string(layout.schemes()) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(known),
        Err(error) => return Err(StoreError::io("read the capsule's schemes")(error)),
    };
    let own: Vec<Scheme> = serde_json::from_str(&text)
        .map_err(|error| StoreError::io("read the capsule's schemes")(io::Error::other(error)))?;
    for scheme in own {
        // One that the registry has declared since is the registry's.
        if scheme.check(&known).is_ok() {
            known.push(Scheme { origin: SchemeOrigin::Capsule, ..scheme });
        }
    }
    Ok(known)
}

impl StoreEngine {
    pub(crate) fn schemes(&self) -> Vec<Scheme> {
        self.state.read().schemes.clone()
    }

    pub(crate) fn add_scheme(
        &self,
        scheme: Scheme,
        recorder: Option<&ChangeRecorder>,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let scheme = Scheme { origin: SchemeOrigin::Capsule, ..scheme };
        let _schemes = self.stripe(SCHEMES_STRIPE).lock();
        let known = self.schemes();
        scheme.check_new(&known)?;
        let schemes: Vec<Scheme> = known.into_iter().chain([scheme]).collect();
        let note = ChangeDetails { action: "scheme.add", ..ChangeDetails::default() };
        self.save_schemes(schemes, self.line_of(recorder, note)?)
    }

    pub(crate) fn remove_scheme(
        &self,
        name: &str,
        recorder: Option<&ChangeRecorder>,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let _schemes = self.stripe(SCHEMES_STRIPE).lock();
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
        let note = ChangeDetails { action: "scheme.remove", ..ChangeDetails::default() };
        self.save_schemes(schemes, self.line_of(recorder, note)?)
    }

    fn save_schemes(
        &self,
        schemes: Vec<Scheme>,
        line: Option<AuditLogLine>,
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "save the capsule's schemes";
        let own: Vec<&Scheme> =
            schemes.iter().filter(|scheme| scheme.origin == SchemeOrigin::Capsule).collect();
        let text = serde_json::to_vec_pretty(&own).map_err(io::Error::other);
        let text = text.map_err(StoreError::io(OPERATION))?;
        let saved = self.replace_file(self.layout.schemes(), text, line, OPERATION);
        if saved.as_ref().is_ok() || matches!(saved, Err(StoreError::AuditFailed { .. })) {
            self.state.write().schemes = schemes;
        }
        saved
    }
}
