//! The parameters of an intent, checked against themselves and against the command that uses them.

use indexmap::IndexMap;

use crate::{
    CmpParam, CmpType, CommandTemplate,
    cmp::{check_keys, values},
    diagnostic::FileFindings,
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
        findings.at(intent.child("params").key_place(name)).warning(
            "unused-parameter",
            format!("the command does not use `{name}`"),
            format!("write `{{{name}}}` where its value goes, or remove it"),
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
        findings.at(place).warning(
            "undeclared-parameter",
            format!("`{{{name}}}` is not declared"),
            fix,
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
        findings.at(place).warning(
            "loose-flag",
            format!("`{flag}` stays when `{word}` is left out, and takes the next word"),
            "use the long form of the flag, or give the parameter a default",
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
        findings.at(place).error("unknown-type", format!("there is no type `{}`", shape.kind), fix);
        return None;
    };
    if !kind.is_listed() {
        findings.at(place).warning(
            "unlisted-type",
            format!("the specification does not list the type `{}`", kind.as_str()),
            "it works here; other programs may not know it",
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
        findings.at(node.child("default").place).error(
            "bad-default",
            format!("the default does not fit: {problem}"),
            "correct the default, or the type",
        );
    }
    let item =
        CmpParam { kind: kind.items().unwrap_or(kind), choices: Vec::new(), ..param.clone() };
    for (index, choice) in param.choices.iter().enumerate() {
        if let Err(problem) = values::check(&item, choice) {
            is_sound = false;
            findings.at(node.child("enum").item(index).place).error(
                "bad-choice",
                format!("the choice does not fit: {problem}"),
                "correct the choice, or the type",
            );
        }
    }
    is_sound.then_some(param)
}
