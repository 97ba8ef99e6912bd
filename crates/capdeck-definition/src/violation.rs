//! What a schema says about a document, as diagnostics a person can act on.

mod wording;

use jsonschema::{ValidationError, error::ValidationErrorKind, paths::LocationSegment};
use serde_json::Value;

use crate::{
    diagnostic::Diagnostic,
    document::{Node, Step},
    schema::Checker,
    suggest::nearest,
};

/// Beyond this many, more messages about one file help nobody, and the file is given up.
const MAX_VIOLATIONS: usize = 50;

/// One broken rule and the value it is about.
#[derive(Debug)]
pub(crate) struct Violation {
    /// The steps to the offending value; for a missing key, to the mapping that lacks it.
    pub(crate) steps: Vec<Step>,
    pub(crate) diagnostic: Diagnostic,
    about: About,
}

/// What ties two violations to the same mistake.
#[derive(Debug, PartialEq, Eq)]
enum About {
    /// An unknown key, and the known one it probably stands for.
    Unknown {
        meant: Option<String>,
    },
    Missing {
        key: String,
    },
    Value,
}

impl Violation {
    /// Whether the violation is about the value of a top-level key, or something in it.
    pub(crate) fn is_below(&self, key: &str) -> bool {
        matches!(self.steps.first(), Some(Step::Key(first)) if first == key)
    }
}

/// What serde refuses although the schema allows it: a safety net, since the schema is meant to be at least as
/// strict. Serde's own words would show the value, which may be a secret.
pub(crate) fn unreadable(checker: &Checker) -> Diagnostic {
    Diagnostic::error("invalid-value", "a value does not fit its field")
        .with_fix(format!("compare the file with `capdeck schema {}`", checker.name))
}

/// The last word about a file with more mistakes than are listed.
pub(crate) fn too_many() -> Diagnostic {
    Diagnostic::error(
        "too-many-problems",
        format!("the file has more than {MAX_VIOLATIONS} problems and is not used"),
    )
    .with_fix("fix the ones listed and look again")
}

/// Whether so much is wrong that what is not listed may be broken too.
pub(crate) fn is_hopeless(violations: &[Violation]) -> bool {
    violations.len() >= MAX_VIOLATIONS
}

/// Checks a document. `json` is `root` without its places.
pub(crate) fn check(checker: &Checker, json: &Value, root: &Node) -> Vec<Violation> {
    if checker.validator.is_valid(json) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    let context = Context { schema: &checker.schema, schema_name: checker.name, root };
    for error in checker.validator.iter_errors(json) {
        context.explain(&error, &mut violations);
        if violations.len() >= MAX_VIOLATIONS {
            break;
        }
    }
    let mistyped: Vec<(Vec<Step>, String)> = violations.iter().filter_map(mistyped_key).collect();
    violations.retain(|violation| match &violation.about {
        About::Missing { key } => {
            !mistyped.iter().any(|(steps, meant)| *steps == violation.steps && meant == key)
        }
        About::Unknown { .. } | About::Value => true,
    });
    violations.truncate(MAX_VIOLATIONS);
    violations.sort_by_key(|violation| (violation.diagnostic.line, violation.diagnostic.column));
    violations
}

/// The mapping and the key it lacks only because that key is mistyped: one mistake, so one message.
fn mistyped_key(violation: &Violation) -> Option<(Vec<Step>, String)> {
    let About::Unknown { meant: Some(meant) } = &violation.about else { return None };
    let (_, mapping) = violation.steps.split_last()?;
    Some((mapping.to_vec(), meant.clone()))
}

/// Whether a `cliTools` value is the singular form, decided by its look so that a typo inside is reported as what it is.
pub(crate) fn is_singular_cli(value: &Node) -> bool {
    let reserved_child = |actions: &Node| {
        actions.get("actions").is_some_and(|inner| inner.entries().iter().any(|e| e.value.is_map()))
            && !actions.entries().iter().any(|entry| entry.value.get("command").is_some())
    };
    value.get("actions").is_some_and(|actions| !reserved_child(actions))
}

struct Context<'a> {
    schema: &'a Value,
    schema_name: &'a str,
    root: &'a Node,
}

impl Context<'_> {
    fn explain(&self, error: &ValidationError<'_>, violations: &mut Vec<Violation>) {
        let steps = steps_of(error);
        let node = self.root.follow(&steps);
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let known = self.known_keys(error);
                for key in unexpected {
                    let meant = nearest(key, known.iter().copied());
                    let unknown = wording::UnknownKey { key, meant, known: &known };
                    let diagnostic = unknown.describe(&steps, self.schema_name);
                    let mut steps = steps.clone();
                    steps.push(Step::Key(key.clone()));
                    violations.push(Violation {
                        steps,
                        diagnostic: diagnostic.at(node.key_place(key)),
                        about: About::Unknown { meant: meant.map(str::to_owned) },
                    });
                }
            }
            ValidationErrorKind::PropertyNames { error: inner } => {
                let key = inner.instance().as_str().unwrap_or_default().to_owned();
                let diagnostic = wording::bad_name(&key, &steps).at(node.key_place(&key));
                let mut steps = steps;
                steps.push(Step::Key(key));
                violations.push(Violation { steps, diagnostic, about: About::Value });
            }
            ValidationErrorKind::Required { property } => {
                let key = property.as_str().unwrap_or_default().to_owned();
                let diagnostic = wording::missing_key(&key, &steps, &[]).at(node.place);
                violations.push(Violation { steps, diagnostic, about: About::Missing { key } });
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => match self.branch(error, node) {
                Branch::Chosen(index) => {
                    for inner in context.get(index).into_iter().flatten() {
                        self.explain(inner, violations);
                    }
                }
                Branch::Explained(diagnostic) => {
                    let diagnostic = diagnostic.at(node.place);
                    violations.push(Violation { steps, diagnostic, about: About::Value });
                }
            },
            kind => {
                let diagnostic = wording::describe(kind, error, node, &steps).at(node.place);
                violations.push(Violation { steps, diagnostic, about: About::Value });
            }
        }
    }

    /// Which alternative the author meant, or why none fits.
    fn branch(&self, error: &ValidationError<'_>, node: &Node) -> Branch {
        let steps = steps_of(error);
        let branches = self.keyword(error).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let constants: Vec<&Value> = branches
            .iter()
            .flat_map(|branch| match (branch.get("const"), branch.get("enum")) {
                (Some(constant), _) => vec![constant],
                (None, Some(Value::Array(values))) => values.iter().collect(),
                (None, _) => Vec::new(),
            })
            .collect();
        if !constants.is_empty() {
            return Branch::Explained(wording::not_one_of(node, &steps, &constants));
        }
        let kinds: Vec<&Value> =
            branches.iter().filter_map(|branch| branch.pointer("/properties/type/const")).collect();
        if kinds.is_empty() {
            return Branch::Chosen(usize::from(!is_singular_cli(node)));
        }
        if !node.is_map() {
            return Branch::Explained(wording::not_a_map(node, &steps));
        }
        match node.get("type") {
            None => Branch::Explained(wording::missing_key("type", &steps, &kinds)),
            Some(kind) => {
                let written = kind.to_json();
                match kinds.iter().position(|known| **known == written) {
                    Some(index) => Branch::Chosen(index),
                    None => {
                        let mut steps = steps;
                        steps.push(Step::Key("type".to_owned()));
                        Branch::Explained(wording::not_one_of(kind, &steps, &kinds))
                    }
                }
            }
        }
    }

    /// The keys the object's schema declares, to offer the nearest.
    fn known_keys(&self, error: &ValidationError<'_>) -> Vec<&str> {
        let keyword = error.schema_path().as_str();
        let parent = keyword.rsplit_once('/').map_or("", |(parent, _)| parent);
        let properties = self.schema.pointer(parent).and_then(|schema| schema.get("properties"));
        let keys = properties.and_then(Value::as_object).into_iter().flat_map(|map| map.keys());
        keys.map(String::as_str).filter(|key| !key.starts_with('$')).collect()
    }

    fn keyword(&self, error: &ValidationError<'_>) -> Option<&Value> {
        self.schema.pointer(error.schema_path().as_str())
    }
}

enum Branch {
    Chosen(usize),
    Explained(Diagnostic),
}

fn steps_of(error: &ValidationError<'_>) -> Vec<Step> {
    error
        .instance_path()
        .iter()
        .map(|segment| match segment {
            LocationSegment::Property(key) => Step::Key(key.into_owned()),
            LocationSegment::Index(index) => Step::Index(index),
        })
        .collect()
}
