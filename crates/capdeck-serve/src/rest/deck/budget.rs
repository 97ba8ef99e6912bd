//! What the deck costs an agent.

use capdeck_host::{BudgetItem, View, budget_items, estimate_tokens};
use schemars::JsonSchema;
use serde::Serialize;

use crate::rest::{
    call::Call,
    input::{NoBody, NoQuery},
    operation::{Operation, get},
    problem::ApiError,
    reply::Reply,
    who::Who,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/deck/budget", "getBudget", "What each capability costs an agent, in tokens")
            .about("Upper bounds, calibrated against o200k; `capdeck budget` counts exactly. Uses what is known and connects to nothing.")
            .who(Who::Deck)
            .done_by(budget),
    ]
}

/// What the deck costs.
#[derive(Debug, Serialize, JsonSchema)]
struct Budget {
    items: Vec<BudgetItem>,
    /// What an agent's standing tool list costs as the deck is offered now.
    total: usize,
    /// What the deck's config allows for it.
    limit: Option<u32>,
    /// How it is counted: `bound`, never less than the tokens there are.
    counting: &'static str,
}

async fn budget(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<Budget>, ApiError> {
    let catalog = call.catalog();
    let items = budget_items(&catalog, &count);
    let total = count(&call.session().view());
    let limit = catalog.config().surface_tokens;
    Ok(Reply::new(Budget { items, total, limit, counting: "bound" }))
}

/// Tokens of a view's tool list, as an upper bound.
pub(in crate::rest) fn count(view: &View) -> usize {
    match view.tools().get() {
        "[]" => 0,
        listed => estimate_tokens(listed),
    }
}
