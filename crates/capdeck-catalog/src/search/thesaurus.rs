//! Words that tools and people use for the same thing. Small on purpose: verbs of every tool list, and
//! names of things that differ between products.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::words::{each_word, stemmed};

/// How much a synonym counts beside the word itself.
const SYNONYM_WEIGHT: f32 = 0.85;
/// How much a word counts that only often means the same.
const RELATED_WEIGHT: f32 = 0.6;

/// Words of one row mean the same.
const SYNONYM_ROWS: &[&str] = &[
    "create add new make",
    "delete remove erase destroy drop",
    "list show enumerate",
    "get retrieve fetch read",
    "update edit change modify",
    "send post",
    "find search lookup",
    "run execute trigger invoke",
    "stop cancel abort halt",
    "copy duplicate clone",
    "answer reply respond response",
    "watch monitor observe",
    "connect link relate relation associate association",
    "repository repo",
    "issue ticket",
    "folder directory",
    "database db",
    "kubernetes k8s kubectl",
    "email mail gmail",
    "picture image photo",
    "configuration config setting",
    "environment env",
    "authentication auth login",
    "document doc documentation",
    "record row",
    "column field property",
    "website site web",
    "error failure fail",
    "permission access",
    "comment note",
    "message msg",
    "organization org",
    "price cost pricing",
    "meeting event appointment",
    "workflow automation",
    "password secret credential",
    "popup dialog modal",
    "background async asynchronous",
    "tag label",
    "sprint cycle iteration",
    "version release",
    "size big large",
    "conversation thread discussion",
    "assistant agent bot",
    "invoice bill",
    "subscription membership",
    "coupon discount voucher",
    "team group",
    "channel room",
    "timezone tz",
    "branch ref",
    "commit revision",
    "pod container",
    "log trace",
    "graph chart diagram",
    "spreadsheet sheet excel",
    "presentation slide deck",
    "notification alert reminder",
    "todo task",
    "reaction emoji",
    "transcribe transcript transcription dictation",
    "notebook vault",
    "session login",
    "approve accept confirm",
    "reject decline deny",
    "enable activate",
    "disable deactivate",
    "expire expiration ttl",
    "convert turn transform",
    "chargeback dispute",
    "hierarchy tree structure",
    "kind type",
    "state status",
    "compare diff difference",
    "finish complete finalize",
    "survey form questionnaire",
    "colleague teammate member",
    "javascript js script",
    "mute silence",
    "blame author wrote written",
    "latest last recent newest",
    "favorite bookmark",
    "webpage page",
    "unwatch unfollow",
    "song music",
    "movie video",
    "quantile percentile histogram",
    "aloud speech",
    "undo revert",
];

/// Words of one row are near each other.
const RELATED_ROWS: &[&str] = &[
    "create write insert open start generate register compose",
    "list get view display all",
    "update set patch put rename",
    "send publish submit write",
    "find query filter",
    "run start launch play",
    "stop end close disable kill",
    "upload attach",
    "download save export",
    "save write store put",
    "move transfer rename",
    "check verify validate test status",
    "add insert append push put attach",
    "delete clear purge uninstall",
    "open navigate visit go",
    "several multiple many batch bulk",
    "give assign grant",
    "issue bug task",
    "repository project",
    "user member person people account",
    "show describe detail inspect explain",
    "metric statistic stat usage",
    "history log change",
    "count number many size",
    "customer client",
    "screenshot picture image snapshot",
    "page document",
    "calendar schedule event",
    "public publish share",
    "pull merge",
    "pr pull",
    "mr merge",
    "voice speech audio sound",
    "money balance payment",
    "feedback comment review",
    "content inside list",
    "element item entry value",
    "vulnerable vulnerability security",
    "person people collaborator",
    "machine vm server host",
    "old previous back history",
    "store set create",
    "fill write set modify",
    "forget delete",
    "thing entity object",
    "disk local filesystem",
    "connect create add",
    "outage incident health status",
    "undo reset rollback restore",
    "hour time worklog",
    "remember memory fact observation knowledge entity",
    "remember add create",
    "know knowledge entity memory",
    "child sub under nested inside",
    "audit activity log",
    "performance slow explain latency",
    "pod resource container",
    "contact object",
    "company object",
    "deal object",
    "phone call number",
    "text sms content",
    "website url page",
    "network request traffic",
    "front left",
    "end right append",
    "say speech message",
    "said message history conversation",
    "loud speech",
    "noise isolate",
    "clock time",
    "dependency dependabot",
    "emoji thumb heart like",
    "unsubscribe unwatch remove",
    "next transition",
    "notify alert contact",
    "terminate stop delete end",
    "restriction permission access role",
    "automate workflow",
    "recurring periodic schedule cron",
    "schedule monitor",
    "free busy available",
    "javascript evaluate code",
    "file attachment document",
    "parse convert extract",
    "credit subscription quota usage limit",
    "tunnel forward expose reach",
    "stuck fail crash error",
    "done complete close resolve transition",
    "assign reassign",
    "reviewer review",
    "approver approval",
    "bold format style color highlight",
    "color format",
    "archive label",
    "average aggregate sum",
    "today current daily",
    "current active now",
    "begin start",
    "ask query request",
    "enlarge resize scale",
    "image picture photo media",
    "small resize",
];

/// Two words that together mean another one.
const PHRASES: &[(&str, &str, &str)] = &[
    ("look", "up", "find"),
    ("how", "many", "count"),
    ("get", "all", "list"),
    ("show", "all", "list"),
    ("set", "up", "create"),
    ("spin", "up", "create"),
    ("get", "rid", "delete"),
    ("log", "in", "login"),
    ("sign", "in", "login"),
    ("log", "out", "logout"),
    ("sign", "out", "logout"),
    ("shut", "down", "stop"),
    ("turn", "off", "disable"),
    ("turn", "on", "enable"),
    ("to", "do", "todo"),
    ("give", "to", "assign"),
    ("put", "in", "add"),
    ("find", "out", "get"),
    ("take", "away", "remove"),
    ("take", "back", "undo"),
    ("go", "to", "navigate"),
    ("check", "out", "checkout"),
    ("roll", "back", "rollback"),
    ("virtual", "machine", "vm"),
    ("out", "loud", "aloud"),
];

/// Other terms for a stemmed query word, each with how much it counts (below 1).
pub(super) fn expansions(term: &str) -> &'static [(String, f32)] {
    static TABLE: OnceLock<FxHashMap<String, Vec<(String, f32)>>> = OnceLock::new();
    TABLE.get_or_init(build).get(term).map_or(&[], Vec::as_slice)
}

/// The one word that two neighbouring words mean.
pub(super) fn phrase(first: &str, second: &str) -> Option<&'static str> {
    PHRASES.iter().find(|(one, two, _)| *one == first && *two == second).map(|(_, _, word)| *word)
}

fn build() -> FxHashMap<String, Vec<(String, f32)>> {
    let mut table: FxHashMap<String, Vec<(String, f32)>> = FxHashMap::default();
    for (rows, weight) in [(SYNONYM_ROWS, SYNONYM_WEIGHT), (RELATED_ROWS, RELATED_WEIGHT)] {
        for row in rows {
            let terms = stems(row);
            for term in &terms {
                let others = table.entry(term.clone()).or_default();
                for other in terms.iter().filter(|other| *other != term) {
                    if !others.iter().any(|(known, _)| known == other) {
                        others.push((other.clone(), weight));
                    }
                }
            }
        }
    }
    table
}

fn stems(row: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_word(row, &mut String::new(), |word| terms.push(stemmed(word)));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_know_their_synonyms() {
        let others: Vec<&str> = expansions("delet").iter().map(|(term, _)| term.as_str()).collect();
        assert!(others.contains(&"remov") && others.contains(&"purg"), "{others:?}");
        assert!(expansions("zebra").is_empty());
        assert_eq!(phrase("look", "up"), Some("find"));
    }

    #[test]
    fn stronger_rows_win() {
        let found = expansions("creat").iter().find(|(term, _)| term == "add");
        assert_eq!(found.map(|(_, weight)| *weight), Some(SYNONYM_WEIGHT));
    }
}
