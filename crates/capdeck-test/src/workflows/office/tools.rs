//! The definitions of the office's tools.

use serde_json::{Value, json};

use super::OfficeService;

pub(super) fn of(service: OfficeService) -> Value {
    match service {
        OfficeService::Tracker => json!([
            tool(
                "list_issues",
                "Lists issues, oldest first, in pages. Filters can be combined.",
                paged(json!({
                    "state": {"enum": ["open", "closed"], "description": "Only issues in this state"},
                    "label": {"type": "string", "description": "Only issues with this label"},
                    "unlabelled": {"type": "boolean", "description": "Only issues without labels, or only with some"},
                })),
                &[],
                Some(page("issues", &issue()))
            ),
            tool("get_issue", "Reads one issue.", json!({"id": id()}), &["id"], Some(issue())),
            tool(
                "export_issues",
                "Gives all issues at once, in one large document.",
                json!({}),
                &[],
                None
            ),
            tool("list_labels", "Lists the labels there are.", json!({}), &[], None),
            tool(
                "add_label",
                "Adds a label to an issue.",
                json!({"id": id(), "label": {"type": "string"}}),
                &["id", "label"],
                None
            ),
            tool(
                "comment",
                "Comments on an issue.",
                json!({"id": id(), "text": {"type": "string"}}),
                &["id", "text"],
                None
            ),
            tool("close_issue", "Closes an issue.", json!({"id": id()}), &["id"], None),
        ]),
        OfficeService::Customers => json!([
            tool(
                "list_customers",
                "Lists customers by number, in pages.",
                paged(json!({
                    "region": {"enum": ["north", "south", "west"], "description": "Only customers of this region"},
                })),
                &[],
                Some(page("customers", &customer()))
            ),
            tool(
                "get_customer",
                "Reads one customer.",
                json!({"id": {"type": "string"}}),
                &["id"],
                Some(customer())
            ),
            tool(
                "find_contact",
                "Finds the customer behind an e-mail address.",
                json!({"email": {"type": "string"}}),
                &["email"],
                Some(customer())
            ),
        ]),
        OfficeService::Billing => json!([
            tool(
                "list_invoices",
                "Lists invoices by number, in pages.",
                paged(json!({
                    "status": {"enum": ["paid", "overdue", "open"], "description": "Only invoices with this status"},
                    "customer": {"type": "string", "description": "Only invoices of this customer"},
                })),
                &[],
                Some(page("invoices", &invoice()))
            ),
            tool(
                "get_invoice",
                "Reads one invoice.",
                json!({"number": {"type": "string"}}),
                &["number"],
                Some(invoice())
            ),
            tool(
                "send_reminder",
                "Reminds a customer of an invoice.",
                json!({"number": {"type": "string"}}),
                &["number"],
                None
            ),
        ]),
        OfficeService::Builds => json!([
            tool(
                "list_builds",
                "Lists builds, newest first, in pages.",
                paged(json!({
                    "branch": {"type": "string", "description": "Only builds of this branch"},
                })),
                &[],
                Some(page("builds", &build()))
            ),
            tool("get_build", "Reads one build.", json!({"id": id()}), &["id"], Some(build())),
            tool(
                "list_failed_tests",
                "Lists the tests that failed in a build.",
                json!({"id": id()}),
                &["id"],
                None
            ),
        ]),
        OfficeService::Releases => json!([
            tool(
                "get_release",
                "Reads the plan of a release.",
                json!({"version": {"type": "string"}}),
                &["version"],
                None
            ),
            tool(
                "list_freezes",
                "Lists the times when nothing may be released.",
                json!({}),
                &[],
                None
            ),
        ]),
    }
}

fn tool(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    output: Option<Value>,
) -> Value {
    let input = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let mut tool = json!({"name": name, "description": description, "inputSchema": input});
    if let Some(output) = output {
        tool["outputSchema"] = output;
    }
    tool
}

fn paged(mut properties: Value) -> Value {
    properties["cursor"] =
        json!({"type": "string", "description": "`nextCursor` of the page before"});
    properties["limit"] =
        json!({"type": "integer", "minimum": 1, "maximum": 40, "description": "Items on a page"});
    properties
}

fn page(name: &str, item: &Value) -> Value {
    let properties = json!({name: {"type": "array", "items": item}, "total": {"type": "integer"}, "nextCursor": {"type": "string"}});
    json!({"type": "object", "properties": properties, "required": [name, "total"]})
}

fn id() -> Value {
    json!({"type": "integer"})
}

fn object(properties: Value) -> Value {
    let required: Vec<String> =
        properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn issue() -> Value {
    object(json!({
        "id": id(), "title": text(), "body": text(), "state": {"enum": ["open", "closed"]}, "assignee": {"type": ["string", "null"]},
        "priority": {"enum": ["low", "normal", "high", "urgent"]}, "labels": {"type": "array", "items": text()}, "created": text(),
    }))
}

fn customer() -> Value {
    let address = object(json!({"street": text(), "city": text(), "postcode": text()}));
    object(
        json!({"id": text(), "name": text(), "region": text(), "tier": text(), "email": text(), "address": address}),
    )
}

fn invoice() -> Value {
    let line =
        object(json!({"item": text(), "count": {"type": "integer"}, "price": {"type": "number"}}));
    object(json!({
        "number": text(), "customer": text(), "status": text(), "amount": {"type": "number"}, "issued": text(), "lines": {"type": "array", "items": line},
    }))
}

fn build() -> Value {
    let step = object(json!({"name": text(), "seconds": {"type": "integer"}}));
    object(json!({
        "id": id(), "branch": text(), "status": {"enum": ["passed", "failed"]}, "commit": text(), "seconds": {"type": "integer"},
        "steps": {"type": "array", "items": step},
    }))
}
