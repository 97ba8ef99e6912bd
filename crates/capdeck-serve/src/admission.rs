//! What the registry grants, in the host's words.

use std::{collections::HashMap, fmt, net::IpAddr, sync::Arc};

use capdeck_auth::inbound::{self, CapsuleAccess, GrantedAccess, Registry, Standing};
use capdeck_host::{
    Access, Admission, AdmissionSource, CapsuleService, DeckGrant, EntryScope, GrantDesk, Granted,
    GrantedCapsule, Role,
};
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use parking_lot::Mutex;
use tokio::sync::broadcast::error::RecvError;

use crate::registry_desk::RegistryDesk;

/// Translates what the registry knows, once for every change.
#[derive(Clone)]
pub(crate) struct Admissions {
    registry: Registry,
    /// What access is asked for.
    capsules: Option<Arc<dyn CapsuleService>>,
    translated: Arc<Mutex<HashMap<String, Translated>>>,
}

/// What the registry said, and the same for the host.
struct Translated {
    access: Arc<GrantedAccess>,
    granted: Arc<Granted>,
}

/// The way to what one credential opens.
struct OfCredential {
    admissions: Admissions,
    standing: Arc<Standing>,
    /// Where whoever has it comes from.
    address: Option<IpAddr>,
}

impl Admissions {
    pub(crate) fn new(registry: Registry, capsules: Option<Arc<dyn CapsuleService>>) -> Self {
        Self { registry, capsules, translated: Arc::default() }
    }

    /// The way to what a credential opens.
    pub(crate) fn of(&self, standing: &Arc<Standing>, address: Option<IpAddr>) -> Admission {
        let (admissions, standing) = (self.clone(), Arc::clone(standing));
        Admission::new(OfCredential { admissions, standing, address })
    }

    fn granted(&self, credential: &str) -> Option<Arc<Granted>> {
        let access = self.registry.access(credential);
        let mut translated = self.translated.lock();
        let Some(access) = access else {
            translated.remove(credential);
            return None;
        };
        if let Some(known) = translated.get(credential)
            && Arc::ptr_eq(&known.access, &access)
        {
            return Some(Arc::clone(&known.granted));
        }
        let granted = Arc::new(translate(&access));
        let made = Translated { access, granted: Arc::clone(&granted) };
        translated.insert(credential.to_owned(), made);
        Some(granted)
    }
}

impl AdmissionSource for OfCredential {
    fn granted(&self) -> Option<Arc<Granted>> {
        self.admissions.granted(&self.standing.credential)
    }

    fn principal(&self) -> &str {
        &self.standing.principal
    }

    fn credential(&self) -> &str {
        &self.standing.credential
    }

    fn grant_desk(&self) -> Option<Arc<dyn GrantDesk>> {
        let Admissions { registry, capsules, .. } = &self.admissions;
        let (registry, standing) = (registry.clone(), Arc::clone(&self.standing));
        Some(Arc::new(RegistryDesk::new(registry, standing, self.address, capsules.clone()?)))
    }

    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        Some(changes(&self.admissions.registry))
    }
}

/// Yields whenever something in the registry became another.
pub(crate) fn changes(registry: &Registry) -> BoxStream<'static, ()> {
    let following =
        stream::unfold(registry.changes(), async |mut changes| match changes.recv().await {
            Ok(_) | Err(RecvError::Lagged(_)) => Some(((), changes)),
            Err(RecvError::Closed) => None,
        });
    following.boxed()
}

impl fmt::Debug for OfCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OfCredential")
            .field("credential", &self.standing.credential)
            .finish()
    }
}

fn translate(access: &GrantedAccess) -> Granted {
    // The host knows one answer to whether tools may be called. Where a grant says yes, those that say no are left out;
    // what they deny stays denied.
    let may_call = access.deck().any(|grant| grant.may_call);
    let (kept, left_out): (Vec<_>, Vec<_>) =
        access.deck().partition(|grant| grant.may_call == may_call);
    let denied = || left_out.iter().flat_map(|grant| grant.denied_tools).cloned();
    let deck = kept.iter().map(|grant| DeckGrant {
        capabilities: grant.capabilities.to_vec(),
        tools: grant.tools.to_vec(),
        denied_tools: grant.denied_tools.iter().cloned().chain(denied()).collect(),
        modes: grant.modes.to_vec(),
    });
    Granted {
        deck: deck.collect(),
        may_call,
        capsules: access.capsules().filter_map(|grant| capsule(&grant)).collect(),
        may_manage: access.may_manage(),
    }
}

/// A capsule as it was granted; `None` when its prefixes cannot be read, which opens nothing.
fn capsule(grant: &CapsuleAccess<'_>) -> Option<GrantedCapsule> {
    let role = match grant.role {
        inbound::Role::Reader => Role::Reader,
        inbound::Role::Appender => Role::Appender,
        inbound::Role::Writer => Role::Writer,
        inbound::Role::Owner => Role::Owner,
    };
    let (allowed, denied) = (grant.uri_prefixes.iter(), grant.denied_prefixes.iter());
    let scope = EntryScope::parse(allowed.map(String::as_str), denied.map(String::as_str)).ok()?;
    Some(GrantedCapsule { capsule: grant.capsule.to_owned(), access: Access { role, scope } })
}
