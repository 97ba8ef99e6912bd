use super::*;

fn exact(text: &str) -> usize {
    tiktoken::get_encoding("o200k_base").unwrap().count(text)
}

#[test]
fn nothing_costs_nothing() {
    assert_eq!(estimate_tokens(""), 0);
}

#[test]
fn the_estimate_is_never_below_the_count() {
    let samples = [
        "a",
        "hello",
        "Finds the issues of a repository that mention a word, newest first, and says how many there are.",
        r#"{"name":"create_issue","description":"Create a new issue in a repository.","inputSchema":{"type":"object","properties":{"owner":{"type":"string","description":"Repository owner"},"labels":{"type":"array","items":{"type":"string"}}},"required":["owner"],"additionalProperties":false}}"#,
        r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","anyOf":[{"const":1},{"enum":["ASC","DESC"]}],"$defs":{"Node":{"$ref":"#/$defs/Node"}},"minimum":-9007199254740991}"##,
        "fn main() {\n    let total: u64 = (0..10).map(|n| n * n).sum();\n    println!(\"{total}\");\n}\n",
        "if (value !== undefined && !Array.isArray(value)) { return Object.keys(value).length > 0; }",
        "azuremigrate_platformlandingzone_getguidance monitor_instrumentation_orchestrator-next",
        "getApiCatalogSystemEnvironmentAssociations updateAPICollectionHTTPSResponseV2",
        "検索したいファイルの名前を入力してください。結果は新しい順に表示されます。",
        "请提供要查询的城市名称，例如北京或上海。返回当前温度与湿度。",
        "Введите название репозитория и номер задачи, чтобы получить список комментариев.",
        "Suche nach Einträgen, die älter als dreißig Tage sind, und lösche überflüssige.",
        "🎯 Purpose: 🛡️ Guardrails ⚠️ COST WARNING 👩‍💻 🇯🇵",
        "line one\n\n\n        deeply indented\n\t\ttabs\r\n   trailing   \n",
        "aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBiYXNlNjQgc3RyaW5nIHdpdGggc29tZSBsZW5ndGg=",
        "550e8400-e29b-41d4-a716-446655440000 2026-11-15T09:41:07.123Z 192.168.178.254",
        "https://example.com/api/v2/users/12345/repos?per_page=100&sort=updated#top",
        "----------------------------------------------------------------------",
        "\"\"\":{[]},,;;!!??...((((****____####",
        "SELECT id, created_at FROM orders WHERE status = 'OPEN' ORDER BY created_at DESC LIMIT 50;",
        "CREATE TABLE IF NOT EXISTS INFORMATION_SCHEMA",
        "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    ];
    for sample in samples {
        let (bound, exact) = (estimate_tokens(sample), exact(sample));
        assert!(bound >= exact, "{bound} < {exact}: {sample}");
    }
}

#[test]
fn long_prose_is_not_overcharged() {
    let text = "Use this to find every open issue that mentions a word in its title or its text. "
        .repeat(40);
    let (bound, exact) = (estimate_tokens(&text), exact(&text));
    assert!(bound >= exact && bound * 100 <= exact * 125, "{bound} for {exact}");
}

#[test]
fn a_limit_changes_only_what_is_beyond_it() {
    let text = "Lists the notes that were written since a day, newest first. ".repeat(40);
    let all = estimate_tokens(&text);
    for limit in [0, 1, all / 2, all, all + 1] {
        assert_eq!(estimate_tokens_up_to(&text, limit).min(limit), all.min(limit), "{limit}");
    }
}
