//! The parameters of an intent, checked against themselves and against the command that uses them.

use indexmap::IndexMap;

use crate::{
    CmpParam, CmpType, CommandTemplate,
    cmp::{check_keys, values},
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
    schema::CMP_CAPABILITY,
    shape::cmp_files::ParamShape,
    suggest::nearest_key,
};

/// The parameters by name. `None` means the findings say why.
pub(super) fn read_all(
    shapes: IndexMap<String, ParamShape>,
    intent: &ValueNode,
    findings: &mut FileFindings,
) -> Option<IndexMap<String, CmpParam>> {
    let map = intent.child("params");
    let mut params = IndexMap::new();
    let mut is_sound = true;
    for (name, shape) in shapes {
        match read_one(shape, map.child(&name), findings) {
            Some(param) => drop(params.insert(name, param)),
            None => is_sound = false,
        }
    }
    is_sound.then_some(params)
}

/// Holds the command against the parameters. A placeholder that nobody declared is a text that must be given.
pub(super) fn compare(
    command: &CommandTemplate,
    params: &mut IndexMap<String, CmpParam>,
    intent: &ValueNode,
    findings: &mut FileFindings,
) {
    let place = intent.child("command").place;
    for name in params.keys().filter(|name| !command.params().any(|used| used == *name)) {
        findings.add(
            Diagnostic::warning("unused-parameter", format!("the command does not use `{name}`"))
                .with_fix(format!("write `{{{name}}}` where its value goes, or remove it"))
                .at(intent.child("params").key_place(name)),
        );
    }
    for name in command.params() {
        if params.contains_key(name) {
            continue;
        }
        let near = nearest_key(name, params.keys().map(String::as_str));
        let fix = match near {
            Some(near) => format!("did you mean `{{{near}}}`? Else declare it in `params`"),
            None => "declare it in `params`; until then it is a required string".to_owned(),
        };
        findings.add(
            Diagnostic::warning("undeclared-parameter", format!("`{{{name}}}` is not declared"))
                .with_fix(fix)
                .at(place),
        );
        let undeclared = CmpParam {
            kind: CmpType::String,
            required: true,
            default: None,
            description: None,
            choices: Vec::new(),
            allow_leading_dash: false,
        };
        params.insert(name.to_owned(), undeclared);
    }
    let mut pairs = command.words().iter().zip(command.words().iter().skip(1));
    let is_open = |name: &str| {
        params.get(name).is_some_and(|param| !param.required && param.default.is_none())
    };
    let left = pairs.find(|(flag, word)| {
        let flag = flag.to_string();
        flag.len() > 1
            && flag.starts_with('-')
            && !flag.starts_with("--")
            && word.only_param().is_some_and(is_open)
    });
    if let Some((flag, word)) = left {
        findings.add(
            Diagnostic::warning(
                "loose-flag",
                format!("`{flag}` stays when `{word}` is left out, and takes the next word"),
            )
            .with_fix("use the long form of the flag, or give the parameter a default")
            .at(place),
        );
    }
}

fn read_one(shape: ParamShape, node: &ValueNode, findings: &mut FileFindings) -> Option<CmpParam> {
    check_keys(node, &CMP_CAPABILITY.keys_of("Parameter"), findings);
    let place = node.child("type").place;
    let Some(kind) = CmpType::ALL.into_iter().find(|kind| kind.as_str() == shape.kind) else {
        let known = CmpType::ALL.iter().filter(|kind| kind.is_listed());
        let listed = known.map(|kind| format!("`{}`", kind.as_str())).collect::<Vec<_>>();
        let fix = nearest_key(&shape.kind, CmpType::ALL.map(CmpType::as_str))
            .map_or_else(|| format!("use {}", listed.join(", ")), |near| format!("write `{near}`"));
        findings.add(
            Diagnostic::error("unknown-type", format!("there is no type `{}`", shape.kind))
                .with_fix(fix)
                .at(place),
        );
        return None;
    };
    if !kind.is_listed() {
        findings.add(
            Diagnostic::warning(
                "unlisted-type",
                format!("the specification does not list the type `{}`", kind.as_str()),
            )
            .with_fix("it works here; other programs may not know it")
            .at(place),
        );
    }
    let param = CmpParam {
        kind,
        required: shape.required.unwrap_or(false),
        default: shape.default,
        description: shape.description,
        choices: shape.choices,
        allow_leading_dash: shape.allow_leading_dash,
    };
    let mut is_sound = true;
    if let Some(default) = &param.default
        && let Err(problem) = values::check(&param, default)
    {
        is_sound = false;
        findings.add(
            Diagnostic::error("bad-default", format!("the default does not fit: {problem}"))
                .with_fix("correct the default, or the type")
                .at(node.child("default").place),
        );
    }
    let item =
        CmpParam { kind: kind.items().unwrap_or(kind), choices: Vec::new(), ..param.clone() };
    for (index, choice) in param.choices.iter().enumerate() {
        if let Err(problem) = values::check(&item, choice) {
            is_sound = false;
            findings.add(
                Diagnostic::error("bad-choice", format!("the choice does not fit: {problem}"))
                    .with_fix("correct the choice, or the type")
                    .at(node.child("enum").item(index).place),
            );
        }
    }
    is_sound.then_some(param)
}
