//! Desks that know whether they were asked, so that a call which never got there is recorded, too.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    AccessRequest, GrantDesk,
    capsules::{CapsuleCaller, CapsuleChanges, CapsuleDesk, CapsuleFailure, CapsuleRequest},
};

/// Passes everything on.
#[derive(Debug)]
pub(super) struct WatchedDesk<'a> {
    desk: &'a dyn CapsuleDesk,
    was_asked: AtomicBool,
}

impl<'a> WatchedDesk<'a> {
    pub(super) fn new(desk: &'a dyn CapsuleDesk) -> Self {
        Self { desk, was_asked: AtomicBool::new(false) }
    }

    pub(super) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl CapsuleDesk for WatchedDesk<'_> {
    fn may_have_capsules(&self) -> bool {
        self.desk.may_have_capsules()
    }

    fn list_file(&self) -> Option<PathBuf> {
        self.desk.list_file()
    }

    async fn ask(&self, request: CapsuleRequest) -> Result<Value, CapsuleFailure> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.desk.ask(request).await
    }

    async fn changes(&self, caller: CapsuleCaller) -> Result<CapsuleChanges, CapsuleFailure> {
        self.desk.changes(caller).await
    }

    async fn close(&self) {
        self.desk.close().await;
    }
}

/// The same for access.
#[derive(Debug)]
pub(super) struct WatchedGrants<'a> {
    desk: &'a dyn GrantDesk,
    was_asked: AtomicBool,
}

impl<'a> WatchedGrants<'a> {
    pub(super) fn new(desk: &'a dyn GrantDesk) -> Self {
        Self { desk, was_asked: AtomicBool::new(false) }
    }

    pub(super) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl GrantDesk for WatchedGrants<'_> {
    async fn ask(&self, wish: AccessRequest) -> Result<Value, CapsuleFailure> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.desk.ask(wish).await
    }

    async fn note_unfit(&self) {
        self.desk.note_unfit().await;
    }
}
