//! What subscribers are told.

use std::{fmt, future::ready, pin::Pin};

use capdeck_capsule::Change;
use futures_util::{Stream, StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use super::{CapsuleCaller, CapsuleDesk, CapsuleFailure, Reach};
use crate::{GrantedCapsule, SharedAccess};

/// Something is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "changed", rename_all = "snake_case")]
pub enum CapsuleChange {
    /// An entry of the capsule with this id and this key.
    Entry { capsule: String, key: String, change: Change },
    /// Which capsules the caller reaches, or what they are called, or which part of them is open.
    Capsules,
    /// The subscriber was too slow, or the process that has the capsules is another one now: anything may have changed.
    Missed,
}

/// Changes within the reach of one caller, from the moment of subscribing.
pub struct CapsuleChanges(Pin<Box<dyn Stream<Item = CapsuleChange> + Send>>);

impl CapsuleChanges {
    /// Changes that arrive on a stream.
    pub fn new(stream: impl Stream<Item = CapsuleChange> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// Changes for a client. What it was granted is looked up with every change, so that one grant more or less counts at
    /// once; and that is a change as well.
    pub async fn for_client(
        desk: &dyn CapsuleDesk,
        caller: CapsuleCaller,
        source: Option<SharedAccess>,
    ) -> Result<Self, CapsuleFailure> {
        let Some(source) = source else { return desk.changes(caller).await };
        let everything = desk.changes(CapsuleCaller { reach: Reach::All, ..caller }).await?;
        let grants = source.changes().unwrap_or_else(|| stream::pending().boxed());
        let mut known = source.access();
        let holder = source.clone();
        let regranted = grants.filter_map(move |()| {
            let now = holder.access();
            let is_other = now.capsules != known.capsules;
            known = now;
            ready(is_other.then_some(Some(CapsuleChange::Capsules)))
        });
        let entries =
            everything.0.filter(move |change| ready(is_granted(&source.access().capsules, change)));
        // Without the capsules there is nothing more to tell, whatever becomes of grants.
        let entries = entries.map(Some).chain(stream::iter([None]));
        let both = stream::select(entries, regranted);
        Ok(Self::new(both.take_while(|change| ready(change.is_some())).filter_map(ready)))
    }

    /// Waits for the next change; `None` when there will be no more. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<CapsuleChange> {
        self.0.next().await
    }
}

/// Whether a change is within grants.
fn is_granted(granted: &[GrantedCapsule], change: &CapsuleChange) -> bool {
    match change {
        CapsuleChange::Entry { key, change, .. } => {
            // Several grants on one capsule are one access, in which what any of them denies is denied.
            let here = granted.iter().filter(|one| one.capsule == *key);
            let access = here.map(|one| one.access.clone()).reduce(|all, one| all.joined(&one));
            access.is_some_and(|access| access.scope.reaches(&change.uri))
        }
        CapsuleChange::Capsules | CapsuleChange::Missed => !granted.is_empty(),
    }
}

impl fmt::Debug for CapsuleChanges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CapsuleChanges")
    }
}

#[cfg(test)]
mod tests {
    use capdeck_capsule::{Access, ChangeKind, EntryUri, Role, Scope};
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn only_granted_parts_of_granted_capsules_are_heard() {
        let scope = Scope::parse(["docs://"], ["docs://secret"]).unwrap();
        let access = Access { role: Role::Reader, scope };
        let granted = [GrantedCapsule { capsule: "team@1".to_owned(), access }];
        let entry = |capsule: &str, uri: &str| CapsuleChange::Entry {
            capsule: "team".to_owned(),
            key: capsule.to_owned(),
            change: Change {
                uri: EntryUri::parse(uri).unwrap(),
                version: 1,
                kind: ChangeKind::Created,
                at: Timestamp::UNIX_EPOCH,
            },
        };
        assert!(is_granted(&granted, &entry("team@1", "docs://a")));
        assert!(!is_granted(&granted, &entry("team@1", "docs://secret/a")));
        assert!(!is_granted(&granted, &entry("team@1", "notes://a")));
        assert!(!is_granted(&granted, &entry("team@2", "docs://a")));
        assert!(is_granted(&granted, &CapsuleChange::Missed));
        assert!(!is_granted(&[], &entry("team@1", "docs://a")));
        assert!(!is_granted(&[], &CapsuleChange::Capsules));
        // A second grant that does not deny it opens for reading no more than the two together do.
        let [first] = granted;
        let access = Access { role: Role::Reader, scope: Scope::all() };
        let both = [first, GrantedCapsule { capsule: "team@1".to_owned(), access }];
        assert!(is_granted(&both, &entry("team@1", "notes://a")));
        assert!(!is_granted(&both, &entry("team@1", "docs://secret/a")));
    }
}
