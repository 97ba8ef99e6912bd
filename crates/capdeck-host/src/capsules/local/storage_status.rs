//! Whether the data folder can be written, and which capsules cannot be used.

use serde_json::{Value, json};

use super::{Admitted, LocalDesk, registry::problem_for};
use crate::capsules::{CapsuleCaller, CapsuleFailure};

impl LocalDesk {
    /// Only what is wrong is named. One capsule that cannot be opened costs no other.
    pub(super) async fn storage_status(&self, caller: &CapsuleCaller) -> Value {
        let Admitted { reached, way, .. } = self.admit(caller);
        let mut found = Vec::new();
        for (info, _) in reached {
            let problem = match self.capsules.store(&info.id).await {
                Err(error) => Some((CapsuleFailure::from(error), false)),
                Ok(store) => {
                    let left_out = store.left_out();
                    left_out.first().map(|first| {
                        let count = left_out.len();
                        let (place, what) = (&first.place, &first.what);
                        let message =
                            format!("unreadable files: {count}, the first is `{place}`: {what}");
                        (CapsuleFailure::new("damaged", message), true)
                    })
                }
            };
            if let Some((failure, is_open)) = problem {
                let problem = problem_for(way, failure);
                found.push(json!({ "id": info.id, "problem": problem, "is_open": is_open }));
            }
        }
        let mut status = json!({ "writable": true, "capsules": found });
        if let Err(error) = self.capsules.check_writable().await {
            status["writable"] = false.into();
            status["reason"] = CapsuleFailure::from(error).message.into();
        }
        status
    }
}
