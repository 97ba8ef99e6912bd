//! A description and the files it refers to, read whole, and the way from a `$ref` to what it means.

use std::{
    collections::HashMap,
    fs, io,
    path::{Component, Path, PathBuf},
    thread,
};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::CallError;

/// How many references may lead to each other before one leads to a value.
const MAX_REFERENCE_HOPS: usize = 64;

/// How many other files a description may be spread over, and how large they may be together.
const MAX_FILES: usize = 256;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct OpenApiDocument {
    pub(super) version: OpenApiVersion,
    files: Vec<Value>,
    /// What a reference's file part leads to, for each file with references. Errors are reported where a reference is followed.
    links: HashMap<(usize, String), Result<usize, String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenApiVersion {
    Swagger2,
    OpenApi30,
    /// 3.1 and later.
    OpenApi31,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OpenApiNode<'a> {
    pub(super) value: &'a Value,
    file: usize,
}

#[derive(Debug, Clone)]
pub(super) struct DocumentFolder {
    /// Where the description itself is.
    pub(super) file: PathBuf,
    /// The folder that no reference may leave.
    pub(super) folder: PathBuf,
}

impl OpenApiDocument {
    /// Reads a description. Files it refers to are read only with a `surrounding`.
    pub(super) fn read(bytes: &[u8], surrounding: Option<&DocumentFolder>) -> Result<Self, String> {
        let mut document = Self::new(parse(bytes)?)?;
        document.link(surrounding);
        Ok(document)
    }

    pub(super) fn new(root: Value) -> Result<Self, String> {
        Ok(Self { version: version(&root)?, files: vec![root], links: HashMap::new() })
    }

    pub(super) fn root(&self) -> OpenApiNode<'_> {
        // There is always a first file.
        OpenApiNode { value: self.files.first().unwrap_or(&Value::Null), file: 0 }
    }

    /// True when it refers to no other file.
    pub(super) fn is_alone(&self) -> bool {
        self.links.is_empty()
    }

    /// Follows references until there is something else. What is no reference is returned as it is.
    pub(super) fn follow<'a>(&'a self, node: OpenApiNode<'a>) -> Result<OpenApiNode<'a>, String> {
        let mut current = node;
        for _hop in 0..MAX_REFERENCE_HOPS {
            let Some(reference) = current.reference() else { return Ok(current) };
            current = self.target(current.file, reference)?;
        }
        Err(format!("the reference `{}` leads in a circle", node.reference().unwrap_or_default()))
    }

    /// What one reference leads to, which may be a reference again.
    fn target<'a>(&'a self, file: usize, reference: &str) -> Result<OpenApiNode<'a>, String> {
        let (place, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let file = if place.is_empty() {
            file
        } else {
            match self.links.get(&(file, place.to_owned())) {
                Some(Ok(file)) => *file,
                Some(Err(reason)) => return Err(reason.clone()),
                None => {
                    return Err(refused(
                        place,
                        "a description from the web may not name other files",
                    ));
                }
            }
        };
        let missing = || format!("the reference `{reference}` leads to nothing");
        let root = self.files.get(file).ok_or_else(missing)?;
        let pointer = percent_decode_str(fragment).decode_utf8().map_err(|_invalid| missing())?;
        Ok(OpenApiNode { value: root.pointer(&pointer).ok_or_else(missing)?, file })
    }

    /// Reads the files that references name, and those that they name in turn.
    fn link(&mut self, surrounding: Option<&DocumentFolder>) {
        let Some(surrounding) = surrounding else { return };
        let main = surrounding.file.canonicalize().unwrap_or_else(|_| surrounding.file.clone());
        let mut paths = vec![main];
        let mut bytes_left = MAX_BYTES;
        let mut file = 0;
        while let (Some(root), Some(path)) = (self.files.get(file), paths.get(file).cloned()) {
            let mut places = Vec::new();
            collect_places(root, &mut places);
            for place in places {
                let link = locate(&place, &path, &surrounding.folder).and_then(|target| {
                    if let Some(known) = paths.iter().position(|path| *path == target) {
                        return Ok(known);
                    }
                    let value = load(&place, &target, self.files.len(), &mut bytes_left)?;
                    self.files.push(value);
                    paths.push(target);
                    Ok(self.files.len() - 1)
                });
                self.links.insert((file, place), link);
            }
            file += 1;
        }
    }
}

impl<'a> OpenApiNode<'a> {
    pub(super) fn get(self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.with(value))
    }

    pub(super) fn with(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }

    pub(super) fn items(self) -> impl Iterator<Item = Self> {
        self.value.as_array().into_iter().flatten().map(move |value| self.with(value))
    }

    pub(super) fn members(self) -> impl Iterator<Item = (&'a str, Self)> {
        let members = self.value.as_object().into_iter().flatten();
        members.map(move |(key, value)| (key.as_str(), self.with(value)))
    }

    /// A text member, trimmed. `None` when it is empty.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        let text = self.value.get(key)?.as_str()?.trim();
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn texts(self, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let items = self.value.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str)
    }

    pub(super) fn is_true(self, key: &str) -> bool {
        self.value.get(key).and_then(Value::as_bool) == Some(true)
    }

    pub(super) fn reference(self) -> Option<&'a str> {
        self.value.get("$ref")?.as_str()
    }

    /// Identifies values by their address in memory, not by their content.
    pub(super) fn identity(self) -> usize {
        std::ptr::from_ref(self.value).addr()
    }
}

fn version(root: &Value) -> Result<OpenApiVersion, String> {
    // YAML reads an unquoted `2.0` as a number.
    let text = |key: &str| match root.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let swagger = text("swagger");
    let declared = text("openapi").or_else(|| swagger.clone());
    match declared.as_deref() {
        Some(text) if text.starts_with("2.") || text == "2" => Ok(OpenApiVersion::Swagger2),
        Some(text) if text == "3" || text == "3.0" || text.starts_with("3.0.") => {
            Ok(OpenApiVersion::OpenApi30)
        }
        Some(text) if text.starts_with("3.") => Ok(OpenApiVersion::OpenApi31),
        Some(text) => Err(format!(
            "it is written in version `{text}` of the format; versions 2.0 and 3.x are known"
        )),
        None => {
            Err("it is no OpenAPI description: it has neither `openapi` nor `swagger`".to_owned())
        }
    }
}

/// The file parts of all references in a value.
fn collect_places(root: &Value, places: &mut Vec<String>) {
    let mut pending = vec![root];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    let place = reference.split_once('#').map_or(reference, |(place, _)| place);
                    if !place.is_empty() && !places.iter().any(|known| known == place) {
                        places.push(place.to_owned());
                    }
                }
                pending.extend(members.values());
            }
            _ => {}
        }
    }
}

/// The file a reference names, without links, inside the folder.
fn locate(place: &str, from: &Path, folder: &Path) -> Result<PathBuf, String> {
    if place.contains("://") {
        return Err(refused(place, "only files in the definition's folder are read"));
    }
    let decoded = percent_decode_str(place).decode_utf8_lossy().into_owned();
    let relative = Path::new(&decoded);
    let climbs = relative.components().any(|part| matches!(part, Component::ParentDir));
    if relative.is_absolute() || climbs {
        return Err(refused(place, "absolute paths and `..` are not followed"));
    }
    let outside = || refused(place, "it is outside of the definition's folder");
    let folder = folder.canonicalize().map_err(|_missing| outside())?;
    let path = from.parent().unwrap_or(from).join(relative);
    let path = path
        .canonicalize()
        .map_err(|error| format!("the reference to `{place}` leads to nothing: {error}"))?;
    // Links were followed before the check: one inside the folder may lead out of it.
    if path.starts_with(&folder) { Ok(path) } else { Err(outside()) }
}

fn load(place: &str, path: &Path, files: usize, bytes_left: &mut u64) -> Result<Value, String> {
    let unreadable =
        |error: String| format!("the file `{place}` that is referred to cannot be read: {error}");
    if files > MAX_FILES {
        return Err(unreadable(format!("the description has more than {MAX_FILES} files")));
    }
    let facts = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !facts.is_file() {
        return Err(unreadable("it is no file".to_owned()));
    }
    *bytes_left = bytes_left.checked_sub(facts.len()).ok_or_else(|| {
        unreadable(format!("all files together exceed {} MiB", MAX_BYTES / (1024 * 1024)))
    })?;
    let bytes = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    parse(&bytes).map_err(unreadable)
}

fn refused(place: &str, reason: &str) -> String {
    format!("the reference to `{place}` is not followed: {reason}")
}

/// Reads a description on a thread with a large stack. Large ones take long enough to hold others up.
pub(crate) async fn read_description<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    let reading = tokio::task::spawn_blocking(move || on_large_stack(read)).await;
    let reading = reading.map_err(io::Error::other).flatten();
    reading.map_err(|error| CallError::internal("the description could not be read").detail(error))
}

/// How deep a description may nest, about as deep as the JSON reader goes.
const MAX_DEPTH: usize = 120;

/// Reads a text. The error says where and why. Needs a large stack: the readers go down with the nesting.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if is_json {
        match serde_json::from_slice(bytes) {
            Ok(value) => return Ok(value),
            // YAML may start with a brace, too; its reader is only asked when it is not plainly broken JSON.
            Err(error) => {
                let yaml = std::str::from_utf8(bytes).ok().and_then(|text| parse_yaml(text).ok());
                return yaml.ok_or_else(|| format!("it is not valid JSON: {error}"));
            }
        }
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    parse_yaml(text).map_err(|error| format!("it is not valid YAML: {error}"))
}

fn parse_yaml(text: &str) -> Result<Value, String> {
    let length = text.len();
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            // No element is shorter than one character, so these only stop what aliases multiply.
            max_events: length.saturating_mul(2) + 1_000,
            max_nodes: length + 1_000,
            max_aliases: 100_000,
            max_anchors: 100_000,
            max_recorded_anchor_events: 1_000_000,
            max_total_scalar_bytes: length.saturating_mul(2) + 1_000,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1_000_000,
            max_replay_stack_depth: 16,
        },
        // `on`, `off`, `yes` and `no` are ordinary words in descriptions.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or_default().to_owned()
    })
}

/// Enough for the deepest document that the readers let through, also without optimisation.
const STACK_BYTES: usize = 32 * 1024 * 1024;

pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("description".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)?;
        thread.join().map_err(|_panicked| io::Error::other("reading it panicked"))
    })
}

#[cfg(test)]
mod syntax_tests {
    use serde_json::json;

    use super::on_large_stack;
    use super::*;

    #[test]
    fn both_syntaxes_give_the_same_value() {
        let expected = json!({"a": ["on", "no", 1, 1.5, true, null], "200": {"b": "x"}});
        for text in [
            r#"{"a": ["on", "no", 1, 1.5, true, null], "200": {"b": "x"}}"#,
            "\u{feff}{\"a\": [\"on\", \"no\", 1, 1.5, true, null], \"200\": {\"b\": \"x\"}}",
            "a: [on, no, 1, 1.5, true, null]\n200:\n  b: x\n",
            "# note\n---\na: [on, no, 1, 1.5, true, ~]\n'200': &here\n  b: x\n",
            "{a: [on, no, 1, 1.5, true, null], '200': {b: x}}",
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(expected.clone()), "{text}");
        }
    }

    #[test]
    fn broken_and_hostile_text_is_told() {
        let deep_json = "{\"a\":".repeat(5_000);
        let deep_yaml = "- ".repeat(5_000);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}, ", level - 1).repeat(10);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", alias.trim_end_matches(", ")));
        }
        for (text, expected) in [
            (r#"{"a": 1,}x"#.as_bytes(), "it is not valid JSON: "),
            (deep_json.as_bytes(), "it is not valid JSON: "),
            (deep_yaml.as_bytes(), "it is not valid YAML: "),
            (bomb.as_bytes(), "it is not valid YAML: "),
            (b"a: [1\nb: 2", "it is not valid YAML: "),
            (b"\xff\xfe\x00", "it is not UTF-8 text"),
        ] {
            let message = on_large_stack(|| parse(text)).unwrap().unwrap_err();
            assert!(message.starts_with(expected), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
