//! The records of the office, made by rule from their numbers.

use std::sync::LazyLock;

use serde_json::{Value, json};

const PEOPLE: [&str; 5] = ["ada", "boris", "chen", "dora", "emil"];
const PRIORITIES: [&str; 4] = ["low", "normal", "high", "urgent"];
const TOPICS: [&str; 4] =
    ["Crash when saving", "Slow list of", "Docs: explain", "Add a filter for"];
const THINGS: [&str; 6] =
    ["drafts", "large files", "shared folders", "invitations", "exports", "old reports"];
const REGIONS: [&str; 3] = ["north", "south", "west"];

/// Issues that stop the release.
pub(in super::super) const BLOCKERS: [u64; 3] = [31, 77, 142];

/// The release that is planned.
pub(in super::super) static RELEASE: LazyLock<Value> = LazyLock::new(
    || json!({"version": "2.4.0", "branch": "release/2.4", "planned": "2026-11-20", "owner": "dora", "notes": "Filters, faster lists, and a new export."}),
);

/// When nothing may be released.
pub(in super::super) static FREEZE: LazyLock<Value> =
    LazyLock::new(|| json!({"from": "2026-11-19", "to": "2026-11-23", "reason": "end of quarter"}));

fn pick<'a>(from: &[&'a str], number: u64) -> &'a str {
    from[usize::try_from(number).unwrap() % from.len()]
}

/// 240 issues.
pub(in super::super) fn issues() -> Vec<Value> {
    let issue = |id: u64| {
        let topic = pick(&TOPICS, id / 2);
        let thing = pick(&THINGS, id);
        let mut labels =
            if id.is_multiple_of(5) { vec![] } else { vec![pick(&["bug", "feature"], id)] };
        if BLOCKERS.contains(&id) {
            labels.push("release-blocker");
        }
        json!({
            "id": id,
            "title": format!("{topic} {thing}"),
            "body": format!(
                "Reported by customer C{:03}. {topic} {thing} happens with version 2.{}.{} on every second try; \
                 it was seen first after the update, and going back does not help. Steps are attached, and a \
                 log with the time of each attempt is there as well.", id % 90, id % 4, id % 7),
            "state": if id.is_multiple_of(3) { "closed" } else { "open" },
            "assignee": if id % 4 == 1 { Value::Null } else { json!(pick(&PEOPLE, id)) },
            "priority": pick(&PRIORITIES, id / 2),
            "labels": labels,
            "created": format!("2026-{:02}-{:02}", 1 + id % 10, 1 + id % 28),
        })
    };
    (1..=240).map(issue).collect()
}

/// 90 customers.
pub(in super::super) fn customers() -> Vec<Value> {
    let customer = |number: u64| {
        json!({
            "id": format!("C{number:03}"),
            "name": format!("{} {} Ltd", pick(&["Blue", "Grand", "Quiet", "Swift"], number), pick(&["Harbour", "Meadow", "Orchard", "Summit", "Valley"], number / 2)),
            "region": pick(&REGIONS, number),
            "tier": pick(&["basic", "plus", "enterprise"], number / 7),
            "email": format!("office{number}@customer.example"),
            "address": {"street": format!("{number} Long Road"), "city": pick(&["Ostwick", "Halden", "Marrow"], number), "postcode": format!("{:05}", number * 137)},
        })
    };
    (1..=90).map(customer).collect()
}

/// 300 invoices.
pub(in super::super) fn invoices() -> Vec<Value> {
    let invoice = |number: u64| {
        json!({
            "number": format!("I{number:04}"),
            "customer": format!("C{:03}", 1 + number * 7 % 90),
            "status": pick(&["paid", "overdue", "open"], number / 2),
            "amount": 150 + number * 37 % 2_300,
            "issued": format!("2026-{:02}-{:02}", 1 + number % 10, 1 + number % 28),
            "lines": [
                {"item": "licences", "count": 1 + number % 12, "price": 40},
                {"item": "support", "count": 1, "price": 110 + number % 50},
            ],
        })
    };
    (1..=300).map(invoice).collect()
}

/// 60 builds, newest first.
pub(in super::super) fn builds() -> Vec<Value> {
    let build = |id: u64| {
        let is_release = id.is_multiple_of(3);
        json!({
            "id": id,
            "branch": if is_release { "release/2.4" } else { "main" },
            "status": if is_release && id.is_multiple_of(4) || id.is_multiple_of(11) { "failed" } else { "passed" },
            "commit": format!("{:08x}", id * 7_919_317),
            "seconds": 300 + id * 13 % 240,
            "steps": [{"name": "compile", "seconds": 120 + id % 30}, {"name": "test", "seconds": 150 + id % 90}, {"name": "package", "seconds": 20}],
        })
    };
    (1..=60).rev().map(build).collect()
}

/// The tests that failed in a build.
pub(in super::super) fn failed_tests(build: &Value) -> Vec<Value> {
    if build["status"] == "passed" {
        return Vec::new();
    }
    let id = build["id"].as_u64().unwrap();
    let test = |number: u64| json!({"name": format!("{}::{}", pick(&["export", "list", "search"], id + number), pick(&["keeps_order", "survives_restart", "is_fast"], number)), "message": "expected 3 rows, found 2"});
    (0..1 + id % 3).map(test).collect()
}
