//! The token cost of each capability in each exposure.

use std::sync::Arc;

use capdeck_catalog::Catalog;
use capdeck_definition::Exposure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::View;

/// The cost of one capability. `None` is an unknown cost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetItem {
    pub id: String,
    /// The number of tools.
    pub tools: Option<usize>,
    /// Every tool listed.
    pub direct: Option<usize>,
    /// One tool for the capability.
    pub progressive: Option<usize>,
    /// The search tools; the same for any number of capabilities.
    pub search: Option<usize>,
    pub on_demand: Option<usize>,
    pub code_mode: Option<usize>,
}

/// The cost of every usable capability; `count` returns the tokens of a tool list.
pub fn budget_items(catalog: &Arc<Catalog>, count: &dyn Fn(&View) -> usize) -> Vec<BudgetItem> {
    let listed = catalog
        .capabilities()
        .filter(|capability| capability.is_usable() && capability.definition.member_of.is_none());
    listed
        .map(|capability| {
            let id = capability.definition.id.as_str();
            let cost = |exposure| count(&View::alone(catalog.clone(), id, exposure));
            let known = capability.discovery.as_ref();
            BudgetItem {
                id: id.to_owned(),
                tools: known.map(|known| known.tools.len()),
                direct: known.map(|_| cost(Exposure::Direct)),
                progressive: Some(cost(Exposure::Progressive)),
                search: Some(cost(Exposure::Search)),
                on_demand: Some(cost(Exposure::OnDemand)),
                code_mode: Some(cost(Exposure::CodeMode)),
            }
        })
        .collect()
}
