//! Catalogs and views derived from the catalog in force, cached while it is.

use std::{collections::HashMap, sync::Arc};

use capdeck_access::DeckAccess;
use capdeck_catalog::{Catalog, CatalogPart, HeldTools, RuleClearance, screen};
use capdeck_definition::{Backend, PinMode};
use parking_lot::Mutex;

use super::Host;
use crate::{View, ViewPolicy, audience::AudienceKey, capsules::capability};

/// Grants come and go while the catalog remains, so the number of cached results is bounded.
const MAX_ACCESSES: usize = 256;

#[derive(Default)]
pub(super) struct DerivedCatalogs {
    variants: Mutex<HashMap<AudienceKey, DerivedCatalog>>,
    /// Catalogs without what a client cannot see, with the catalog they were derived from.
    screens: Mutex<HashMap<(ClientRights, CatalogPart), DerivedCatalog>>,
    /// Shared by all sessions with the same policy and rights.
    views: Mutex<HashMap<(ClientRights, ViewPolicy), Arc<View>>>,
}

type DerivedCatalog = (Arc<Catalog>, Arc<Catalog>);

/// Decides how much of a catalog a client can see. Clients with equal rights share the result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClientRights {
    audience: AudienceKey,
    clearance: RuleClearance,
    access: Option<Arc<DeckAccess>>,
}

impl Host {
    pub(crate) fn view_for(
        &self,
        policy: &ViewPolicy,
        audience: &AudienceKey,
        names: &[&str],
        access: Option<Arc<DeckAccess>>,
    ) -> Arc<View> {
        let catalog = self.screened_for(audience, names, policy.part(), access.clone());
        self.view_of(catalog, policy, audience, names, access)
    }

    /// The view of a screened catalog. Built once per catalog, for any number of clients.
    pub(crate) fn view_of(
        &self,
        screened: Arc<Catalog>,
        policy: &ViewPolicy,
        audience: &AudienceKey,
        names: &[&str],
        access: Option<Arc<DeckAccess>>,
    ) -> Arc<View> {
        let clearance = RuleClearance::of(&screened.config().policy, names);
        let mut views = self.0.derived.views.lock();
        let key = (ClientRights { audience: audience.clone(), clearance, access }, policy.clone());
        if let Some(view) = views.get(&key)
            && Arc::ptr_eq(view.catalog(), &screened)
        {
            return view.clone();
        }
        let view = Arc::new(View::build(screened, policy, self.0.usage.relevance()));
        views.retain(|_, other| other.catalog().version() == view.catalog().version());
        make_room(&mut views);
        views.insert(key, view.clone());
        view
    }

    pub(crate) fn screened_for(
        &self,
        audience: &AudienceKey,
        names: &[&str],
        part: CatalogPart,
        access: Option<Arc<DeckAccess>>,
    ) -> Arc<Catalog> {
        self.screened_of(&self.catalog_for(audience), audience, names, part, access)
    }

    pub(crate) fn screened_of(
        &self,
        catalog: &Arc<Catalog>,
        audience: &AudienceKey,
        names: &[&str],
        part: CatalogPart,
        access: Option<Arc<DeckAccess>>,
    ) -> Arc<Catalog> {
        if access.is_none() && catalog.is_open_to(&part) {
            return catalog.clone();
        }
        let clearance = RuleClearance::of(&catalog.config().policy, names);
        let key = (ClientRights { audience: audience.clone(), clearance, access }, part);
        let mut screens = self.0.derived.screens.lock();
        if let Some((made_from, screened)) = screens.get(&key)
            && Arc::ptr_eq(made_from, catalog)
        {
            return screened.clone();
        }
        let ClientRights { clearance, access, .. } = &key.0;
        let grant_tools = access.as_ref().map(|access| access.grant_tools).unwrap_or_default();
        let whole = capability::with_grant_tools(catalog, grant_tools);
        let screened = screen(&whole, clearance, &key.1, access.as_deref());
        screens.retain(|_, (made_from, _)| made_from.version() == catalog.version());
        make_room(&mut screens);
        screens.insert(key, (catalog.clone(), screened.clone()));
        screened
    }

    pub(crate) fn catalog_for(&self, audience: &AudienceKey) -> Arc<Catalog> {
        self.variant_of(&self.catalog(), audience)
    }

    pub(crate) fn variant_of(
        &self,
        catalog: &Arc<Catalog>,
        audience: &AudienceKey,
    ) -> Arc<Catalog> {
        if audience.is_bare() {
            return catalog.clone();
        }
        let mut variants = self.0.derived.variants.lock();
        if let Some((made_from, variant)) = variants.get(audience)
            && Arc::ptr_eq(made_from, catalog)
        {
            return variant.clone();
        }
        let others: Vec<_> = catalog
            .capabilities()
            .filter(|capability| matches!(capability.definition.backend, Backend::Mcp(_)))
            .filter_map(|capability| {
                let theirs = self.0.discoveries.known_to(&capability.definition, audience)?;
                let held = match capability.pins {
                    PinMode::Block => self.pins().held(&capability.definition, &theirs),
                    PinMode::Off | PinMode::Warn => HeldTools::new(),
                };
                Some((capability.definition.id.clone(), theirs, held))
            })
            .collect();
        let variant = match others.is_empty() {
            true => catalog.clone(),
            false => Arc::new(catalog.with_discoveries(others)),
        };
        variants.retain(|_, (made_from, _)| Arc::ptr_eq(made_from, catalog));
        variants.insert(audience.clone(), (catalog.clone(), variant.clone()));
        variant
    }
}

/// Drops the results for grants when there are too many; clients that still have them derive theirs
/// again.
fn make_room<K, V>(made: &mut HashMap<(ClientRights, K), V>) {
    let is_granted = |rights: &ClientRights| rights.access.is_some();
    if made.keys().filter(|(rights, _)| is_granted(rights)).count() >= MAX_ACCESSES {
        made.retain(|(rights, _), _| !is_granted(rights));
    }
}
