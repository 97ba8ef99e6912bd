//! Rules of the `inputSchema` of an action.

use serde_json::{Map, Value};

use crate::{
    diagnostic::{Diagnostic, Findings},
    document::Node,
};

/// Warns of a schema that no call can satisfy. `node` is the action.
pub(super) fn check(schema: Option<&Map<String, Value>>, node: &Node, findings: &mut Findings) {
    let kind = schema.and_then(|schema| schema.get("type"));
    if kind.is_none_or(|kind| kind == "object") {
        return;
    }
    findings.add(
        Diagnostic::warning(
            "wrong-type",
            "`inputSchema` does not describe an object, which arguments are",
        )
        .with_fix("write `type: object` and name the arguments under `properties`")
        .at(node.child("inputSchema").child("type").place),
    );
}
