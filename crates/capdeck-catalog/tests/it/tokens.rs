//! The token estimate against exact counts of real tool definitions.

use capdeck_catalog::estimate_tokens;

use crate::deck;

#[test]
fn no_recorded_tool_is_underestimated_and_few_are_far_over() {
    let Some(servers) = deck::recorded_servers() else {
        println!("skipped: no shared data");
        return;
    };
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let (mut ratios, mut below) = (Vec::new(), Vec::new());
    for server in &servers {
        let mut check = |text: &str, what: &str| {
            let (bound, exact) = (estimate_tokens(text), encoding.count(text));
            if bound < exact {
                below.push(format!("{bound} < {exact} {}/{what}", server.id));
            }
            bound as f64 / exact as f64
        };
        for tool in &server.tools {
            check(&tool.description().unwrap_or_default(), tool.name());
            ratios.push(check(&serde_json::to_string(tool).unwrap(), tool.name()));
        }
        check(&serde_json::to_string(&server.tools).unwrap(), "*");
    }
    assert!(below.is_empty(), "{} below: {below:#?}", below.len());
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("on average {mean:.3} times the exact count");
    assert!(mean <= 1.25, "on average {mean:.3} times the exact count");
}
