//! Where a session gets the access of its client.

use std::{fmt, sync::Arc};

use capdeck_access::Access;
use futures_util::stream::BoxStream;

use crate::GrantService;

/// Knows what one client may use now. A session asks with every request, so that a revoked grant is gone with the next
/// one; the host itself stores no access.
pub trait AccessSource: fmt::Debug + Send + Sync {
    /// What the client may use now. Answers from memory, and with the same `Arc` until something changes.
    fn access(&self) -> Arc<Access>;

    /// Where the client requests more access, and decides about requests of others if it may.
    fn grant_desk(&self) -> Option<Arc<dyn GrantService>> {
        None
    }

    /// Yields whenever the access may have changed, where that is known.
    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        None
    }
}

/// The access of one client, as it is put into a session.
pub type SharedAccess = Arc<dyn AccessSource>;
