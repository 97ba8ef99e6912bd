//! The token cost of the deck.

use capdeck_host::{BudgetItem, View, budget_items, estimate_tokens};
use schemars::JsonSchema;
use serde::Serialize;

use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery},
    operation::{RestOperation, get},
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/budget", "getBudget", "Get the token cost of each capability")
            .about("Upper bounds, calibrated against o200k; `capdeck budget` counts exactly. Uses cached tool lists; connects to nothing.")
            .who(RequiredAccess::Deck)
            .handled_by(budget),
    ]
}

/// The token cost of the deck.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Budget")]
struct DeckBudget {
    items: Vec<BudgetItem>,
    /// The cost of the tool list in the current exposures.
    total: usize,
    /// The limit in the configuration.
    limit: Option<u32>,
    /// How tokens are counted: `bound` is an upper bound.
    counting: &'static str,
}

async fn budget(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<DeckBudget>, ApiError> {
    let catalog = call.catalog();
    let items = budget_items(&catalog, &count);
    let total = count(&call.session().view());
    let limit = catalog.config().surface_tokens;
    Ok(RestResponse::new(DeckBudget { items, total, limit, counting: "bound" }))
}

pub(in crate::rest) fn count(view: &View) -> usize {
    match view.tools().get() {
        "[]" => 0,
        listed => estimate_tokens(listed),
    }
}
