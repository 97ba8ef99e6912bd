//! Join of two services: which customers of a region owe the most.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    AgentWorkflow,
    agent::WorkflowAgent,
    office::{OfficeService, customers, invoices},
};

/// Customers in the answer.
const MOST: usize = 5;

pub(super) static SERVICE_JOIN: AgentWorkflow = AgentWorkflow {
    name: "cross-service join",
    what: "the five customers in the north that owe the most, by name, from 30 customers of one service and 100 overdue invoices of another",
    services: &[OfficeService::Customers, OfficeService::Billing],
    questions: &["list customers of a region", "list overdue invoices"],
    by_calls,
    script: r#"
async function all(list: (cursor?: string) => Promise<any>, items: string) {
  const found: any[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor);
    found.push(...page[items]);
    cursor = page.nextCursor;
  } while (cursor);
  return found;
}
const [customers, invoices] = await Promise.all([
  all((cursor) => caplets.customers.list_customers({ region: "north", cursor }), "customers"),
  all((cursor) => caplets.billing.list_invoices({ status: "overdue", cursor }), "invoices"),
]);
const owed = new Map(customers.map((customer) => [customer.id, { name: customer.name, owes: 0 }]));
for (const invoice of invoices) {
  const customer = owed.get(invoice.customer);
  if (customer) customer.owes += invoice.amount;
}
return [...owed.entries()]
  .map(([id, { name, owes }]) => ({ id, name, owes }))
  .sort((a, b) => b.owes - a.owes || a.id.localeCompare(b.id))
  .slice(0, 5);
"#,
    facts: || {
        let fits = |item: &Value, key: &str, wanted: &str| item[key] == wanted;
        let customers = customers().into_iter().filter(|one| fits(one, "region", "north"));
        let invoices = invoices().into_iter().filter(|one| fits(one, "status", "overdue"));
        joined(&customers.collect::<Vec<_>>(), &invoices.collect::<Vec<_>>())
    },
};

fn by_calls(agent: &mut WorkflowAgent<'_>) -> Value {
    let region = json!({"region": "north"});
    let customers = agent.all(OfficeService::Customers, "list_customers", &region, "customers");
    let overdue = json!({"status": "overdue"});
    let invoices = agent.all(OfficeService::Billing, "list_invoices", &overdue, "invoices");
    joined(&customers, &invoices)
}

fn joined(customers: &[Value], invoices: &[Value]) -> Value {
    let mut owed: BTreeMap<String, (String, u64)> = customers
        .iter()
        .map(|customer| (text(&customer["id"]), (text(&customer["name"]), 0)))
        .collect();
    for invoice in invoices {
        if let Some((_, owes)) = owed.get_mut(&text(&invoice["customer"])) {
            *owes += invoice["amount"].as_u64().unwrap();
        }
    }
    let mut rows: Vec<(String, (String, u64))> = owed.into_iter().collect();
    // Sorting keeps the order of the ids where amounts are the same.
    rows.sort_by_key(|(_, (_, owes))| std::cmp::Reverse(*owes));
    let rows = rows.into_iter().take(MOST);
    rows.map(|(id, (name, owes))| json!({"id": id, "name": name, "owes": owes})).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
