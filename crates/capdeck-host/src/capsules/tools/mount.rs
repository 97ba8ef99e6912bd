//! Which capsule a call without one is about.

use capdeck_capsule::StoreError;
use parking_lot::Mutex;

use crate::capsules::{CapsuleError, CapsuleErrorCode, bare_name};

/// The capsule that one client works in. At the endpoint of one capsule it is that one, for good; else the client
/// mounts and unmounts, if anything of it is remembered from one request to the next.
#[derive(Debug, Default)]
pub struct CapsuleMount {
    bound: Option<BoundCapsule>,
    is_forgetful: bool,
    mounted: Mutex<Option<String>>,
}

#[derive(Debug)]
struct BoundCapsule {
    id: String,
    name: String,
}

impl CapsuleMount {
    /// Always this capsule.
    pub fn bound(id: &str, name: &str) -> Self {
        let bound = BoundCapsule { id: id.to_owned(), name: name.to_owned() };
        Self { bound: Some(bound), ..Self::default() }
    }

    /// For a client without sessions: nothing can be mounted.
    pub fn forgetful() -> Self {
        Self { is_forgetful: true, ..Self::default() }
    }

    /// Whether there is one capsule for good.
    pub fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// The id of the capsule the client mounted.
    pub fn mounted(&self) -> Option<String> {
        self.mounted.lock().clone()
    }

    /// Refuses where nothing would remember it.
    pub(super) fn require_memory(&self) -> Result<(), CapsuleError> {
        if !self.is_forgetful {
            return Ok(());
        }
        let message =
            "requests of this connection stand alone, so a mounted capsule would be forgotten";
        Err(CapsuleError::new(CapsuleErrorCode::NotMountable, message)
            .hint("name the capsule in each call: `capsule`"))
    }

    pub(super) fn set(&self, capsule: Option<String>) {
        *self.mounted.lock() = capsule;
    }

    /// The capsule that a call is about: the one it names, else the mounted one. `None`: the only one there is.
    pub(super) fn resolve(&self, named: Option<&str>) -> Result<Option<String>, CapsuleError> {
        let Some(bound) = &self.bound else {
            return Ok(named.map(str::to_owned).or_else(|| self.mounted()));
        };
        match named.map(bare_name) {
            // Here no other capsule exists, even when the caller reaches more elsewhere.
            Some(name) if name != bound.id && !name.eq_ignore_ascii_case(&bound.name) => {
                Err(StoreError::CapsuleNotFound { name: name.to_owned() }.into())
            }
            Some(_) | None => Ok(Some(bound.id.clone())),
        }
    }
}
