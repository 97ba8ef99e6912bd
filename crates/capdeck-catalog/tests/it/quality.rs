//! How often a plain question finds the right tool.

use capdeck_catalog::{Catalog, ToolSearchRequest};

use crate::deck::Question;

/// Shares of questions whose answer is the first hit, and among the first five.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Recall {
    pub(crate) first: f64,
    pub(crate) five: f64,
}

/// Asks every question; `miss` hears of those whose answer is not the first hit.
pub(crate) fn recall(
    catalog: &Catalog,
    questions: &[Question],
    mut miss: impl FnMut(&Question, Option<usize>, &[String]),
) -> Recall {
    let (mut first, mut five) = (0, 0);
    for question in questions {
        let hits = ask(catalog, &question.query, 10);
        let place = hits.iter().position(|hit| question.expect.contains(hit));
        first += usize::from(place == Some(0));
        five += usize::from(place.is_some_and(|place| place < 5));
        if place != Some(0) {
            miss(question, place, &hits);
        }
    }
    let share = |count: usize| count as f64 / questions.len() as f64;
    Recall { first: share(first), five: share(five) }
}

/// The best hits, each as `server/tool`.
pub(crate) fn ask(catalog: &Catalog, query: &str, limit: usize) -> Vec<String> {
    let request =
        ToolSearchRequest { query, within: None, limit, cursor: None, allowed: &|_| true };
    let page = catalog.search(&request).unwrap();
    let name = |hit: &capdeck_catalog::ToolSearchMatch| {
        let tool = hit.tool.as_ref().map_or("", |tool| tool.name());
        format!("{}/{tool}", hit.capability)
    };
    page.hits.iter().map(name).collect()
}
