//! Search through the catalog: what is found first, how pages fit together, what stays hidden.

use std::{collections::HashSet, sync::Arc};

use capdeck_catalog::{Catalog, SearchCursorError, Tool, ToolSearchRequest, ToolSearchResult};
use serde_json::{Value, json};

use crate::{
    deck::{self, Server},
    quality::{self, ask},
};

fn server(id: &str, tools: &[(&str, &str)]) -> Server {
    let tool = |(name, description): &(&str, &str)| {
        tool(&json!({"name": name, "description": description}))
    };
    Server { id: id.to_owned(), tools: tools.iter().map(tool).collect() }
}

fn tool(definition: &Value) -> Arc<Tool> {
    Arc::new(serde_json::from_value(definition.clone()).unwrap())
}

fn trackers() -> Catalog {
    deck::catalog(vec![
        server(
            "github",
            &[
                ("issues/create", "Creates an issue in a repository."),
                ("create-issue-type", "Create an issue type for an organization."),
                ("issues/list", "Lists issues of a repository."),
                ("issues/delete-label", "Removes a label."),
                ("repos/get", "Gets a repository."),
            ],
        ),
        server(
            "mail",
            &[
                ("sendMessage", "Sends an email to one or more people."),
                ("searchMessages", "Finds emails."),
                ("removeMessage", "Deletes an email for good."),
            ],
        ),
        server("time", &[("convert_time", "Converts between time zones.")]),
    ])
}

fn page<'a>(
    catalog: &Catalog,
    query: &'a str,
    change: impl FnOnce(&mut ToolSearchRequest<'a>),
) -> ToolSearchResult {
    let mut request =
        ToolSearchRequest { query, within: None, limit: 20, cursor: None, allowed: &|_| true };
    change(&mut request);
    catalog.search(&request).unwrap()
}

#[test]
fn the_tool_that_does_what_is_asked_comes_first() {
    let catalog = trackers();
    for (query, expected) in [
        ("create an issue", "github/issues/create"),
        ("add a new issue", "github/issues/create"),
        ("create issue type", "github/create-issue-type"),
        ("show all issues", "github/issues/list"),
        ("delete an email", "mail/removeMessage"),
        ("send mail", "mail/sendMessage"),
        ("look up messages", "mail/searchMessages"),
        ("which time zones", "time/convert_time"),
        ("removing labels", "github/issues/delete-label"),
    ] {
        assert_eq!(ask(&catalog, query, 1), [expected], "{query}");
    }
}

#[test]
fn ordinary_questions_find_the_right_tool() {
    let zone = json!({"type": "string", "description": "A zone, e.g. 'Asia/Tokyo'."});
    let clock = |name: &str, description: &str, parameters: &[&str]| {
        let parameters: serde_json::Map<String, Value> =
            parameters.iter().map(|name| ((*name).to_owned(), zone.clone())).collect();
        tool(
            &json!({"name": name, "description": description, "inputSchema": {"properties": parameters}}),
        )
    };
    let clocks = vec![
        clock("convert_time", "Turns the time of one zone into another's.", &["source", "target"]),
        clock("get_current_time", "Tells the time in a zone.", &["timezone"]),
    ];
    let catalog = deck::catalog(vec![
        server(
            "git",
            &[
                ("git_commit", "Records the staged changes in the repository."),
                ("git_diff", "Shows how two commits differ."),
                ("git_log", "Shows the log of commits."),
                ("git_show", "Shows what one commit holds."),
            ],
        ),
        server(
            "files",
            &[
                ("read_file", "Reads a whole file as text. DEPRECATED: call read_text_file."),
                ("read_media_file", "Reads a picture or a recording from a file."),
                ("read_text_file", "Reads a whole file as text."),
                ("write_file", "Makes a file or replaces what it holds."),
            ],
        ),
        Server { id: "clock".to_owned(), tools: clocks },
    ]);
    for (query, expected) in [
        ("commit history", "git/git_log"),
        ("what time is it in tokyo", "clock/get_current_time"),
        ("read a file", "files/read_text_file"),
        ("commit my changes", "git/git_commit"),
        ("convert 9am in tokyo to new york time", "clock/convert_time"),
        ("save text in a file", "files/write_file"),
    ] {
        assert_eq!(ask(&catalog, query, 1), [expected], "{query}");
    }
}

#[test]
fn deprecated_and_destructive_tools_rank_below_their_equals() {
    let marked = [
        json!({"name": "sync_notes", "description": "Brings notes up to date. This tool is deprecated."}),
        json!({"name": "sync_notes", "description": "Brings notes up to date.", "annotations": {"deprecated": true}}),
        json!({"name": "sync_notes", "description": "Brings notes up to date.", "annotations": {"destructiveHint": true}}),
        json!({"name": "purge_notes", "description": "Brings notes up to date."}),
    ];
    for worse in marked {
        let better =
            tool(&json!({"name": "sync_notes", "description": "Brings notes up to date."}));
        let servers = [("a", tool(&worse)), ("b", better)];
        let servers = servers.map(|(id, tool)| Server { id: id.to_owned(), tools: vec![tool] });
        let found = ask(&deck::catalog(servers.into()), "bring my notes up to date", 1);
        assert_eq!(found, ["b/sync_notes"], "above {worse}");
    }
}

#[test]
fn a_tool_about_deprecated_things_is_not_deprecated() {
    let about = json!({"name": "list_deprecated", "description": "Lists deprecated endpoints of a service."});
    let other = json!({"name": "list_endpoints", "description": "Lists endpoints of a service."});
    let tools = vec![tool(&other), tool(&about)];
    let catalog = deck::catalog(vec![Server { id: "api".to_owned(), tools }]);
    assert_eq!(ask(&catalog, "which endpoints are deprecated", 1), ["api/list_deprecated"]);
}

#[test]
fn beginnings_and_typing_errors_are_forgiven() {
    let catalog = trackers();
    for (query, expected) in [
        ("conv", "time/convert_time"),
        ("convret", "time/convert_time"),
        ("isues create", "github/issues/create"),
        ("repositry", "github/repos/get"),
    ] {
        assert!(ask(&catalog, query, 3).contains(&expected.to_owned()), "{query}");
    }
}

#[test]
fn a_reading_tool_is_not_put_above_a_more_relevant_one() {
    let tools = vec![
        tool(
            &json!({"name": "get_thing", "description": "Gets a report about deleted files.", "annotations": {"readOnlyHint": true}}),
        ),
        tool(
            &json!({"name": "delete_file", "description": "Deletes a file.", "annotations": {"destructiveHint": true}}),
        ),
    ];
    let catalog = deck::catalog(vec![Server { id: "disk".to_owned(), tools }]);
    assert_eq!(ask(&catalog, "file deletion: delete file", 1), ["disk/delete_file"]);
}

#[test]
fn everything_an_author_writes_is_searched() {
    let full = json!({
        "name": "x1", "title": "Aardvark", "description": "First sentence here. Buffalo later on.",
        "tags": ["cheetah"], "useWhen": "dolphins appear", "avoidWhen": "elephants appear",
        "patterns": ["feed the falcon"],
        "inputSchema": {"properties": {
            "gazelleCount": {"type": "integer", "description": "how many hyenas", "enum": ["ibex"]},
            "odd": true, "list": {"description": ["not", "text"], "enum": [1, null]}
        }}
    });
    let tools = vec![tool(&full), tool(&json!({"name": "other"}))];
    let catalog = deck::catalog(vec![Server { id: "zoo".to_owned(), tools }]);
    for query in [
        "aardvark", "buffalo", "cheetah", "dolphin", "elephant", "falcon", "gazelle", "hyena",
        "ibex",
    ] {
        assert_eq!(ask(&catalog, query, 5), ["zoo/x1"], "{query}");
    }
    assert_eq!(
        ask(&catalog, "zoo", 5),
        ["zoo/x1", "zoo/other"],
        "a capability's name finds its tools"
    );
}

#[test]
fn nothing_found_is_an_empty_page() {
    let catalog = trackers();
    let nothing = page(&catalog, "quetzalcoatl", |_| {});
    assert_eq!((nothing.hits.len(), nothing.total, nothing.next_cursor), (0, 0, None));
    assert_eq!(page(&catalog, "", |_| {}).total, 0);
    assert_eq!(page(&catalog, "?!", |_| {}).total, 0);
    assert_eq!(page(&catalog, "create", |request| request.within = Some("githab")).total, 0);
}

#[test]
fn a_capability_without_known_tools_is_found_by_its_card() {
    let mut definition = deck::definition("weather", capdeck_definition::SourceLayer::UserFile);
    definition.description = "Forecasts and current conditions.".to_owned();
    definition.hints.use_when = Some("somebody asks about rain".to_owned());
    let catalog = deck::catalog_of(vec![definition], &|_| None);
    let found = page(&catalog, "will it rain", |_| {});
    assert_eq!(found.total, 1);
    let hit = found.hits.first().unwrap();
    assert_eq!(hit.capability.as_str(), "weather");
    assert!(hit.tool.is_none());
}

#[test]
fn pages_reach_the_end_without_gaps_or_repeats() {
    let many: Vec<Server> = (0..40)
        .map(|number| {
            let names: Vec<String> = (0..30).map(|tool| format!("list_things_{tool}")).collect();
            let tools: Vec<(&str, &str)> =
                names.iter().map(|name| (name.as_str(), "Lists things.")).collect();
            server(&format!("s{number}"), &tools)
        })
        .collect();
    let catalog = deck::catalog(many);
    for limit in [1_000, 7, 300] {
        let mut seen = HashSet::new();
        let mut cursor: Option<String> = None;
        let mut last = f32::INFINITY;
        loop {
            let page = page(&catalog, "list things", |request| {
                (request.limit, request.cursor) = (limit, cursor.as_deref());
            });
            assert_eq!(page.total, 1_200);
            for hit in &page.hits {
                assert!(hit.score <= last);
                last = hit.score;
                let name = hit.tool.as_ref().unwrap().name();
                assert!(seen.insert(format!("{}/{name}", hit.capability)), "twice: {name}");
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen.len(), 1_200, "pages of {limit}");
    }
}

#[test]
fn a_cursor_is_good_for_its_own_search_only() {
    let catalog = trackers();
    let first = page(&catalog, "issue", |request| request.limit = 1);
    let next = first.next_cursor.unwrap();
    let with = |query: &str, within, cursor: &str| {
        catalog.search(&ToolSearchRequest {
            query,
            within,
            limit: 1,
            cursor: Some(cursor),
            allowed: &|_| true,
        })
    };
    assert!(with("issue", None, &next).is_ok());
    for (query, within, cursor) in [
        ("label", None, next.as_str()),
        ("issue", Some("github"), next.as_str()),
        ("issue", None, "nonsense"),
        ("issue", None, ""),
    ] {
        assert_eq!(
            with(query, within, cursor).unwrap_err(),
            SearchCursorError { cursor: cursor.to_owned() }
        );
    }
}

#[test]
fn within_keeps_to_one_capability() {
    let found = page(&trackers(), "message issue", |request| request.within = Some("mail"));
    assert!(found.total > 0);
    assert!(found.hits.iter().all(|hit| hit.capability.as_str() == "mail"));
}

/// What may not be seen must not show through anything: hits, counts, scores, spelling.
#[test]
fn hidden_capabilities_change_nothing() {
    let secret = server(
        "vault",
        &[
            ("create_issue", "Creates an issue about creating issues."),
            ("zanzibar", "A zanzibar tool."),
        ],
    );
    let public =
        || vec![server("github", &[("create_issue", "Creates an issue."), ("zanzibat", "Other.")])];
    let without = deck::catalog(public());
    let with = deck::catalog(public().into_iter().chain([secret]).collect());
    for query in ["create issue", "zanzibar", "vault", "vaul", "about"] {
        let expected = page(&without, query, |_| {});
        let found = page(&with, query, |request| {
            request.allowed = &|capability| capability.definition.id.as_str() != "vault";
        });
        let facts = |page: &ToolSearchResult| {
            let hits: Vec<(String, u32)> = page
                .hits
                .iter()
                .map(|hit| {
                    (
                        format!("{}/{}", hit.capability, hit.tool.as_ref().unwrap().name()),
                        hit.score.to_bits(),
                    )
                })
                .collect();
            (hits, page.total, page.next_cursor.clone())
        };
        assert_eq!(facts(&found), facts(&expected), "{query}");
    }
}

#[test]
fn hostile_text_is_only_text() {
    let catalog = trackers();
    let long = "word ".repeat(20_000);
    for query in [long.as_str(), "\u{0}\u{feff}🦀", "ＡＢＣ", "'; DROP TABLE tools; --", "検索"]
    {
        assert!(page(&catalog, query, |_| {}).hits.len() <= 20);
    }
}

#[test]
fn plain_questions_find_the_right_recorded_tool() {
    let Some(servers) = deck::recorded_servers() else {
        println!("skipped: no shared data");
        return;
    };
    let catalog = deck::catalog(servers);
    let recall = quality::recall(&catalog, &deck::questions("held-out"), |_, _, _| {});
    assert!(recall.five >= 0.95 && recall.first >= 0.78, "{recall:?}");
}

#[test]
fn held_out_questions_are_not_learned_from() {
    let (train, held_out) = (deck::questions("train"), deck::questions("held-out"));
    assert!(held_out.len() >= 400);
    let plain =
        |text: &str| text.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "");
    let learned: HashSet<String> = train.iter().map(|question| plain(&question.query)).collect();
    let mut seen = HashSet::new();
    for question in &held_out {
        let plain = plain(&question.query);
        assert!(!learned.contains(&plain) && seen.insert(plain), "twice: {}", question.query);
    }
}
