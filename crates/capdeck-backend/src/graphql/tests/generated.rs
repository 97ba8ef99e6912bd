//! Generated schemas: every operation is valid and bounded.

use std::fmt::Write as _;

use apollo_compiler::ast::{Definition, Document, Selection};
use proptest::prelude::*;

use super::{super::selection::MAX_FIELDS, *};

const FIELD_NAMES: [&str; 6] = ["id", "name", "a", "b", "a_T1", "edges"];
const OBJECTS: usize = 5;
const INTERFACES: usize = 2;
const UNIONS: usize = 2;
const INPUTS: usize = 3;

/// A field: its name, its type by index, the wrapping, an argument, and whether it is deprecated.
type FieldPlan = (usize, usize, usize, usize, bool);

#[derive(Debug, Clone)]
struct Plan {
    roots: Vec<FieldPlan>,
    objects: Vec<(Vec<FieldPlan>, usize)>,
    interfaces: Vec<Vec<FieldPlan>>,
    unions: Vec<Vec<usize>>,
    inputs: Vec<Vec<FieldPlan>>,
}

fn field() -> impl Strategy<Value = FieldPlan> {
    (0..FIELD_NAMES.len(), 0..14_usize, 0..5_usize, 0..7_usize, any::<bool>())
}

fn plan() -> impl Strategy<Value = Plan> {
    let fields = || prop::collection::vec(field(), 1..7);
    (
        fields(),
        prop::collection::vec((fields(), 0..4_usize), OBJECTS),
        prop::collection::vec(fields(), INTERFACES),
        prop::collection::vec(prop::collection::vec(0..OBJECTS, 1..4), UNIONS),
        prop::collection::vec(fields(), INPUTS),
    )
        .prop_map(|(roots, objects, interfaces, unions, inputs)| Plan {
            roots,
            objects,
            interfaces,
            unions,
            inputs,
        })
}

impl Plan {
    fn schema(&self) -> String {
        let mut text = String::from("enum E { X Y }\nscalar Custom\n");
        write_type(&mut text, "type Query", &self.roots, &[]);
        write_type(&mut text, "type Mutation", &self.roots, &[]);
        for (number, fields) in self.interfaces.iter().enumerate() {
            write_type(&mut text, &format!("interface I{number}"), fields, &[]);
        }
        for (number, (fields, implements)) in self.objects.iter().enumerate() {
            let names: Vec<String> = (0..INTERFACES)
                .filter(|one| implements & (1 << one) != 0)
                .map(|one| format!("I{one}"))
                .collect();
            // At most one interface: two may declare a field differently.
            let first = (0..INTERFACES).find(|one| implements & (1 << one) != 0);
            let inherited = first.map(|one| self.interfaces[one].as_slice()).unwrap_or_default();
            let clause =
                names.first().map(|name| format!(" implements {name}")).unwrap_or_default();
            write_type(&mut text, &format!("type T{number}{clause}"), fields, inherited);
        }
        for (number, members) in self.unions.iter().enumerate() {
            let mut members: Vec<String> = members.iter().map(|one| format!("T{one}")).collect();
            members.sort();
            members.dedup();
            writeln!(text, "union U{number} = {}", members.join(" | ")).unwrap();
        }
        for (number, fields) in self.inputs.iter().enumerate() {
            write_input(&mut text, number, fields);
        }
        text
    }

    fn root_fields(&self) -> usize {
        let mut names: Vec<usize> = self.roots.iter().map(|field| field.0).collect();
        names.sort_unstable();
        names.dedup();
        names.len() * 2
    }
}

fn output_type(number: usize) -> String {
    match number {
        0..=4 => ["String", "Int", "E", "Custom", "ID"][number].to_owned(),
        5..=9 => format!("T{}", number - 5),
        10..=11 => format!("I{}", number - 10),
        _ => format!("U{}", (number - 12) % UNIONS),
    }
}

fn wrapped(name: &str, how: usize) -> String {
    match how {
        0 => name.to_owned(),
        1 => format!("{name}!"),
        2 => format!("[{name}!]!"),
        3 => format!("[{name}]"),
        _ => format!("[[{name}]!]"),
    }
}

fn argument(how: usize) -> &'static str {
    match how {
        0 => "(first: Int)",
        1 => "(need: String!)",
        2 => "(first: Int! = 5, e: E! = X)",
        3 => "(in: In0, list: [In1!])",
        4 => "(in: In2!)",
        _ => "",
    }
}

fn write_type(text: &mut String, head: &str, fields: &[FieldPlan], inherited: &[FieldPlan]) {
    let mut known = Vec::new();
    write!(text, "{head} {{").unwrap();
    for (name, ty, how, with, is_deprecated) in inherited.iter().chain(fields) {
        if known.contains(name) {
            continue;
        }
        known.push(*name);
        let deprecated = if *is_deprecated { " @deprecated" } else { "" };
        let ty = wrapped(&output_type(*ty), *how);
        write!(text, " {}{}: {ty}{deprecated}", FIELD_NAMES[*name], argument(*with)).unwrap();
    }
    writeln!(text, " }}").unwrap();
}

fn write_input(text: &mut String, number: usize, fields: &[FieldPlan]) {
    let mut known = Vec::new();
    write!(text, "input In{number} {{").unwrap();
    for (name, ty, how, ..) in fields {
        if known.contains(name) {
            continue;
        }
        known.push(*name);
        let ty = match ty {
            0..=4 => wrapped(&output_type(*ty), *how),
            // A required recursive input could never be given.
            _ => format!("In{}", ty % INPUTS),
        };
        write!(text, " {}: {ty}", FIELD_NAMES[*name]).unwrap();
    }
    writeln!(text, " }}").unwrap();
}

fn count(selections: &[Selection]) -> usize {
    selections
        .iter()
        .map(|selection| match selection {
            Selection::Field(field) => 1 + count(&field.selection_set),
            Selection::InlineFragment(fragment) => count(&fragment.selection_set),
            Selection::FragmentSpread(_) => 0,
        })
        .sum()
}

fn fields_of(document: &str) -> usize {
    let document = Document::parse(document, "document").unwrap();
    let [Definition::OperationDefinition(operation)] = document.definitions.as_slice() else {
        panic!("one operation is needed")
    };
    count(&operation.selection_set)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn every_operation_is_valid_and_bounded(plan in plan(), depth in 1..=5_u8, old in any::<bool>()) {
        let schema = plan.schema();
        // Building validates each document and lists those that fail.
        let api = api(&schema, json!({"selectionDepth": depth, "includeDeprecated": old}));
        prop_assert_eq!(problems(&api), [], "{}", schema);
        prop_assert_eq!(names(&api).len(), plan.root_fields());
        for (name, document) in api.documents() {
            prop_assert!(fields_of(document) <= MAX_FIELDS + 1, "{name}: {document}");
        }
        for tool in api.discovery().tools {
            let tool = serde_json::to_value(&tool).unwrap();
            for key in ["inputSchema", "outputSchema"] {
                prop_assert!(jsonschema::validator_for(&tool[key]).is_ok(), "{}", tool[key]);
            }
        }
    }
}
