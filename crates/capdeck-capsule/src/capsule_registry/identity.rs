//! What tells a capsule from every other one, before it and after it.
//!
//! The id of a capsule is part of its address and may be used again once the capsule is gone. Access is bound to the uid,
//! which is made with the capsule and is in its record.

use super::CapsuleRegistryInner;
use crate::{CapsuleRegistryError, capsule_info::new_uid, share::ShareRecord};

impl CapsuleRegistryInner {
    /// Gives a uid to capsules of version 0.1, once, and binds their shares to it. A share that is older than the capsule
    /// of its id was made for an earlier one and stays without a capsule.
    pub(super) fn identify_capsules(&self) -> Result<(), CapsuleRegistryError> {
        if self.boxes.all().iter().any(|capsule| capsule.uid.is_empty()) {
            self.boxes.change(&self.disk, |capsules| {
                let unknown = capsules.iter_mut().filter(|capsule| capsule.uid.is_empty());
                unknown.for_each(|capsule| capsule.uid = new_uid());
                Ok(())
            })?;
        }
        let capsules = self.boxes.all();
        let uid_of = |share: &crate::Share| {
            let of = |capsule: &&crate::CapsuleInfo| {
                capsule.id == share.capsule && capsule.created_at <= share.created_at
            };
            capsules.iter().find(of).map(|capsule| capsule.uid.clone())
        };
        let is_unbound = |record: &ShareRecord| {
            record.share.capsule_uid.is_none() && uid_of(&record.share).is_some()
        };
        if self.shares.all().iter().any(is_unbound) {
            self.shares.change(&self.disk, |shares| {
                let shares = shares.iter_mut().map(|record| &mut record.share);
                let unbound = shares.filter(|share| share.capsule_uid.is_none());
                unbound.for_each(|share| share.capsule_uid = uid_of(share));
                Ok(())
            })?;
        }
        Ok(())
    }
}
