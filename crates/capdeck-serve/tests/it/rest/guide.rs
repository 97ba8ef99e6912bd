//! The commands of the guide work unchanged.

use std::path::Path;

use capdeck_test::FakePlan;

use super::stage::Api;
use crate::served::Setting;

/// The words of a command line; quotes keep words together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

#[test]
fn every_command_of_the_guide_is_answered() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/rest.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let mut api = Api::of(Setting::of(&FakePlan::default()));
    let mut done = 0;
    for line in guide.lines().filter(|line| line.starts_with("curl -s ")) {
        let words = words(line);
        let after = |flag: &str| {
            let place = words.iter().position(|word| word == flag)?;
            words.get(place + 1).cloned()
        };
        let url = words.iter().find(|word| word.starts_with("http://")).unwrap();
        let target = url.strip_prefix("http://127.0.0.1:7717").unwrap();
        let body = after("-d");
        let usual = if body.is_some() { "POST" } else { "GET" };
        let method = after("-X").unwrap_or_else(|| usual.to_owned());
        let header = after("-H").unwrap_or_default();
        let headers: Vec<(&str, &str)> = header.split_once(": ").into_iter().collect();
        let answer = api.send(&method, target, &headers, body.unwrap_or_default().as_bytes());
        assert!((200..300).contains(&answer.status), "{line}: {}", answer.reply.body);
        done += 1;
    }
    assert!(done >= 7, "{done}");
}
