//! The capsule service: every operation on capsules, with a typed request and a typed response.
//!
//! [`CapsuleService`] is the seam. [`LocalCapsuleService`] answers from the data folder, which one process has at a time; the
//! other processes send the same requests to that one. Callers use [`CapsuleServiceExt::ask`] and do not know which of
//! the two they have. Requests and responses become JSON only where they leave the process.

mod caller;
mod changes;
mod error;
mod local;
mod operation;
mod request;
mod response;

use std::{fmt, path::PathBuf};

use async_trait::async_trait;

pub use capdeck_access::CapsuleGrant;

pub use self::{
    caller::{AmbiguousName, CapsuleCaller, CapsuleRequest, Reach, bare_name, find_capsule},
    changes::{CapsuleChange, CapsuleChanges},
    error::{CapsuleChoice, CapsuleError, CapsuleResult, ErrorDetails},
    local::LocalCapsuleService,
    operation::{CapsuleCall, CapsuleOperation, CapsuleResponse},
    request::*,
    response::*,
};

/// All capsules of this machine, for callers whose identity the host established.
#[async_trait]
pub trait CapsuleService: fmt::Debug + Send + Sync {
    /// False when there is certainly no capsule. Costs one look at the disk and opens nothing.
    fn may_have_capsules(&self) -> bool;

    /// The file that is written whenever there are other capsules, where there is one to watch.
    fn list_file(&self) -> Option<PathBuf>;

    /// Does one operation for one caller. The response has the variant of the operation.
    async fn dispatch(
        &self,
        request: CapsuleRequest<CapsuleOperation>,
    ) -> CapsuleResult<CapsuleResponse>;

    /// What changes within the caller's reach, from now on.
    async fn changes(&self, caller: CapsuleCaller) -> CapsuleResult<CapsuleChanges>;

    /// Finishes what was started and releases the data folder.
    async fn close(&self);
}

/// Typed calls of every [`CapsuleService`].
pub trait CapsuleServiceExt: CapsuleService {
    fn ask<C: CapsuleCall>(
        &self,
        request: CapsuleRequest<C>,
    ) -> impl Future<Output = CapsuleResult<C::Response>> + Send {
        let CapsuleRequest { caller, capsule, operation } = request;
        let operation = operation.into();
        async move {
            let request = CapsuleRequest { caller, capsule, operation };
            C::response(self.dispatch(request).await?).ok_or_else(|| {
                let message = "the response belongs to another operation";
                CapsuleError::new(crate::CapsuleErrorCode::Internal, message)
            })
        }
    }
}

impl<T: CapsuleService + ?Sized> CapsuleServiceExt for T {}
