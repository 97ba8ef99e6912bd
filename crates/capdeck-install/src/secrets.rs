//! What looks like a secret in somebody's configuration. Guessing wrongly hides a harmless value, which costs little.

/// Parts of names that announce a secret.
const NAMES: [&str; 11] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "authorization",
    "private",
    "access_key",
];

/// Beginnings of values that well-known services give out.
const PREFIXES: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_live",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "Bearer ",
];

/// Whether the value under this name should not be seen or copied.
pub fn looks_secret(name: &str, value: &str) -> bool {
    // A reference is where a secret should be.
    if value.is_empty() || value.starts_with('$') {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    let by_name = NAMES.iter().any(|part| lower.contains(part))
        || lower.ends_with("_key")
        || lower.ends_with("_pat")
        || lower == "key";
    by_name
        || PREFIXES.iter().any(|prefix| value.starts_with(prefix))
        || looks_random(value)
        || has_login(value)
}

/// A line of a configuration file with what may be a secret taken out.
pub(crate) fn mask_line(line: &str) -> String {
    let separator = line.find([':', '=']);
    if let Some((key, value)) =
        separator.and_then(|at| Some((line.get(..=at)?, line.get(at + 1..)?)))
    {
        let bare = |text: &str| {
            text.trim().trim_end_matches(',').trim_matches(['"', '\'', ' ']).to_owned()
        };
        let name = bare(key.trim_end_matches([':', '=']));
        let opens = value.trim_start().starts_with(['{', '[']);
        if !opens && looks_secret(&name, &bare(value)) {
            return format!("{key} [hidden]");
        }
    }
    mask_words(line)
}

/// Words of a list, such as arguments, that are secrets by themselves.
fn mask_words(line: &str) -> String {
    let mut masked = line.to_owned();
    for word in line.split(['"', '\'', ' ', ',', '=']) {
        if word.len() >= 12 && looks_secret("", word) {
            masked = masked.replace(word, "[hidden]");
        }
    }
    masked
}

/// Long, with letters and digits mixed, and nothing that words or paths have.
fn looks_random(value: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '=');
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    value.len() >= 24 && value.chars().all(is_token) && digits >= 4 && letters >= 4
}

/// `postgres://user:password@host`.
fn has_login(value: &str) -> bool {
    value
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next())
        .and_then(|authority| authority.rsplit_once('@'))
        .is_some_and(|(login, _)| login.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_settings() {
        for (name, value, expected) in [
            ("GITHUB_TOKEN", "x", true),
            ("GITHUB_TOKEN", "${GITHUB_TOKEN}", false),
            ("GITHUB_TOKEN", "", false),
            ("HOME_DIR", "/home/me", false),
            ("MODE", "ghp_0123456789", true),
            ("DATABASE_URL", "postgres://me:hunter2@db/x", true),
            ("DATABASE_URL", "postgres://db/x", false),
            ("SOMETHING", "a8f5f167f44f4964e6c998dee827110c", true),
            ("PACKAGE", "@modelcontextprotocol/server-filesystem", false),
            ("OPENAI_API_KEY", "x1", true),
            ("KEYBOARD", "qwerty", false),
        ] {
            assert_eq!(looks_secret(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn lines_lose_their_secrets_only() {
        for (line, masked) in [
            ("  \"TOKEN\": \"abc\",", "  \"TOKEN\": [hidden]"),
            ("token = \"abc\" # mine", "token = [hidden]"),
            (
                "  \"args\": [\"--key\", \"ghp_0123456789ab\"]",
                "  \"args\": [\"--key\", \"[hidden]\"]",
            ),
            ("  \"command\": \"npx\",", "  \"command\": \"npx\","),
            ("  \"url\": \"https://example.com/mcp\"", "  \"url\": \"https://example.com/mcp\""),
        ] {
            assert_eq!(mask_line(line), masked);
        }
    }
}
