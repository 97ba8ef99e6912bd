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

/// Who looks at the deck.
pub(crate) struct DeckClient<'a> {
    pub(crate) host: &'a Host,
    pub(crate) audience: &'a AudienceKey,
    /// Names in rules.
    pub(crate) names: &'a [&'a str],
    /// `None` for those who need no grants.
    pub(crate) access: Option<Arc<DeckAccess>>,
}

impl DeckClient<'_> {
    /// What this client sees of the catalog in force.
    pub(crate) fn current_catalog(&self, part: CatalogPart) -> Arc<Catalog> {
        self.screened(&self.variant(&self.host.catalog()), part)
    }

    pub(crate) fn current_view(&self, policy: &ViewPolicy) -> Arc<View> {
        self.view(self.current_catalog(policy.part()), policy)
    }

    /// The view of a screened catalog. Built once per catalog, for any number of clients.
    pub(crate) fn view(&self, screened: Arc<Catalog>, policy: &ViewPolicy) -> Arc<View> {
        let mut views = self.host.0.derived.views.lock();
        let key = (self.rights(&screened), policy.clone());
        if let Some(view) = views.get(&key)
            && Arc::ptr_eq(view.catalog(), &screened)
        {
            return view.clone();
        }
        let view = Arc::new(View::build(screened, policy, self.host.0.usage.relevance()));
        for list in view.too_large() {
            tracing::warn!(
                capability = list.id.as_str(),
                "{} tools of {} tokens are too many to list; clients find them with `search`, unless `options.surfaceTokens` allows more",
                list.tools,
                list.tokens
            );
        }
        views.retain(|_, other| other.catalog().version() == view.catalog().version());
        make_room(&mut views);
        views.insert(key, view.clone());
        view
    }

    /// A catalog without what this client cannot see.
    pub(crate) fn screened(&self, catalog: &Arc<Catalog>, part: CatalogPart) -> Arc<Catalog> {
        if self.access.is_none() && catalog.is_open_to(&part) {
            return catalog.clone();
        }
        let key = (self.rights(catalog), part);
        let mut screens = self.host.0.derived.screens.lock();
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

    /// A catalog with what servers offer to clients of this audience.
    pub(crate) fn variant(&self, catalog: &Arc<Catalog>) -> Arc<Catalog> {
        let Self { host, audience, .. } = *self;
        if audience.is_bare() {
            return catalog.clone();
        }
        let mut variants = host.0.derived.variants.lock();
        if let Some((made_from, variant)) = variants.get(audience)
            && Arc::ptr_eq(made_from, catalog)
        {
            return variant.clone();
        }
        let others: Vec<_> = catalog
            .capabilities()
            .filter(|capability| matches!(capability.definition.backend, Backend::Mcp(_)))
            .filter_map(|capability| {
                let theirs = host.0.discoveries.known_to(&capability.definition, audience)?;
                let held = match capability.pins {
                    PinMode::Block => host.pins().held(&capability.definition, &theirs),
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

    fn rights(&self, catalog: &Catalog) -> ClientRights {
        let clearance = RuleClearance::for_client(&catalog.config().policy, self.names);
        ClientRights { audience: self.audience.clone(), clearance, access: self.access.clone() }
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
