//! The schemes of one capsule: `schemes.json`.

use std::{fs, io};

use super::{engine::Engine, layout::Layout};
use crate::{Scheme, StoreError, scheme::Origin};

/// All schemes of a capsule: the built-in ones, those of the registry, its own.
pub(super) fn load(layout: &Layout, registry: &[Scheme]) -> Result<Vec<Scheme>, StoreError> {
    let mut known = Scheme::builtin();
    for scheme in registry {
        scheme.check(&known)?;
        known.push(Scheme { origin: Origin::Registry, ..scheme.clone() });
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
            known.push(Scheme { origin: Origin::Capsule, ..scheme });
        }
    }
    Ok(known)
}

impl Engine {
    pub(crate) fn schemes(&self) -> Vec<Scheme> {
        self.state.read().schemes.clone()
    }

    pub(crate) fn add_scheme(&self, scheme: Scheme) -> Result<(), StoreError> {
        self.writable()?;
        let scheme = Scheme { origin: Origin::Capsule, ..scheme };
        let mut state = self.state.write();
        scheme.check(&state.schemes)?;
        let schemes: Vec<Scheme> = state.schemes.iter().cloned().chain([scheme]).collect();
        self.save_schemes(&schemes)?;
        state.schemes = schemes;
        Ok(())
    }

    pub(crate) fn remove_scheme(&self, name: &str) -> Result<(), StoreError> {
        self.writable()?;
        let mut state = self.state.write();
        let scheme = crate::scheme::find(&state.schemes, name)?;
        if scheme.origin != Origin::Capsule {
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
        self.save_schemes(&schemes)?;
        state.schemes = schemes;
        Ok(())
    }

    fn save_schemes(&self, schemes: &[Scheme]) -> Result<(), StoreError> {
        let own: Vec<&Scheme> =
            schemes.iter().filter(|scheme| scheme.origin == Origin::Capsule).collect();
        let text = serde_json::to_vec_pretty(&own).map_err(io::Error::other);
        text.and_then(|text| self.disk.replace(&self.layout.schemes(), &text))
            .map_err(StoreError::io("save the capsule's schemes"))
    }
}
