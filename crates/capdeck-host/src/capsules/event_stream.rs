//! Which changes a client with grants sees.

use std::future::ready;

use futures_util::{StreamExt as _, stream};

use super::{
    CapsuleCaller, CapsuleChange, CapsuleChanges, CapsuleError, CapsuleGrant, CapsuleService, Reach,
};
use crate::SharedAccess;

/// Changes for a client. What it was granted is looked up with every change, so that one grant more or less counts at
/// once; and that is a change as well.
pub async fn client_changes(
    service: &dyn CapsuleService,
    caller: CapsuleCaller,
    source: Option<SharedAccess>,
) -> Result<CapsuleChanges, CapsuleError> {
    let Some(source) = source else { return service.changes(caller).await };
    let everything = service.changes(CapsuleCaller { reach: Reach::All, ..caller }).await?;
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
        everything.filter(move |change| ready(is_granted(&source.access().capsules, change)));
    // Without the capsules nothing more changes, even when grants do.
    let entries = entries.map(Some).chain(stream::iter([None]));
    let both = stream::select(entries, regranted);
    Ok(CapsuleChanges::new(both.take_while(|change| ready(change.is_some())).filter_map(ready)))
}

/// Whether a change is within grants.
fn is_granted(granted: &[CapsuleGrant], change: &CapsuleChange) -> bool {
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

#[cfg(test)]
mod tests {
    use capdeck_capsule::{CapsuleAccess, ChangeEvent, ChangeKind, EntryScope, EntryUri, Role};
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn only_granted_parts_of_granted_capsules_are_heard() {
        let scope = EntryScope::parse(["docs://"], ["docs://secret"]).unwrap();
        let access = CapsuleAccess { role: Role::Reader, scope };
        let granted = [CapsuleGrant { capsule: "team@1".to_owned(), access }];
        let entry = |capsule: &str, uri: &str| CapsuleChange::Entry {
            capsule: "team".to_owned(),
            key: capsule.to_owned(),
            change: ChangeEvent {
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
        let access = CapsuleAccess { role: Role::Reader, scope: EntryScope::all() };
        let both = [first, CapsuleGrant { capsule: "team@1".to_owned(), access }];
        assert!(is_granted(&both, &entry("team@1", "notes://a")));
        assert!(!is_granted(&both, &entry("team@1", "docs://secret/a")));
    }
}
