//! The ranking beside the plain way to do it: everything that fits is put in order whole, and phrases are looked for in
//! the words themselves.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{EntryUri, search::words::each_word};

const WORDS: [&str; 7] = ["blue", "green", "deploy", "deploys", "cache", "a", "rollback"];

/// An entry: which words its title and its body have.
type Text = (Vec<usize>, Vec<usize>);

fn sentence(words: &[usize]) -> String {
    let words = words.iter().filter_map(|word| WORDS.get(*word).copied());
    words.collect::<Vec<_>>().join(" ")
}

fn meta(number: usize, title: &str) -> Arc<EntryMeta> {
    // The last ones come first by their addresses, so that an order by number would show.
    let uri = EntryUri::parse(&format!("docs://{:04}", 9_999 - number)).unwrap();
    let title = Some(title).filter(|title| !title.is_empty());
    let facts = json!({
        "uri": uri, "version": 1, "title": title, "risk_class": "structural", "written_by": "test",
        "written_at": "2026-01-31T12:00:00Z", "content_sha256": "", "bytes": 0,
    });
    Arc::new(serde_json::from_value(facts).unwrap())
}

fn index(texts: &[Text]) -> EntryIndex {
    let mut index = EntryIndex::default();
    for (number, (title, body)) in texts.iter().enumerate() {
        index.put(&meta(number, &sentence(title)), &sentence(body));
    }
    index
}

fn addresses(ranking: &EntryRanking) -> Vec<(String, u32)> {
    let best = ranking.best.iter();
    best.map(|(meta, score)| (meta.uri.to_string(), score.to_bits())).collect()
}

fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_word(text, |_, term| terms.push(term.to_owned()));
    terms
}

fn has_phrase(text: &str, phrase: &[String]) -> bool {
    terms(text).windows(phrase.len()).any(|window| window == phrase)
}

fn texts() -> impl Strategy<Value = Vec<Text>> {
    let words = || prop::collection::vec(0..WORDS.len(), 0..12);
    prop::collection::vec((prop::collection::vec(0..WORDS.len(), 0..3), words()), 0..60)
}

proptest! {
    #[test]
    fn the_best_are_the_first_of_all(texts in texts(), query in prop::collection::vec(0..WORDS.len(), 1..4), most in 1..20_usize) {
        let index = index(&texts);
        let all = index.rank(&sentence(&query), usize::MAX, None::<fn(&EntryMeta) -> bool>);
        let mut plain = addresses(&all);
        let order = |one: &(String, u32), other: &(String, u32)| {
            f32::from_bits(other.1).total_cmp(&f32::from_bits(one.1)).then_with(|| one.0.cmp(&other.0))
        };
        plain.sort_by(order);
        prop_assert_eq!(&addresses(&all), &plain);
        let best = index.rank(&sentence(&query), most, None::<fn(&EntryMeta) -> bool>);
        plain.truncate(most);
        prop_assert_eq!(addresses(&best), plain);
        prop_assert_eq!(best.total, all.total);
        // Letting everything through is the same as leaving nothing out.
        let seen = index.rank(&sentence(&query), most, Some(|_: &EntryMeta| true));
        prop_assert_eq!(addresses(&seen), addresses(&best));
    }

    #[test]
    fn phrases_are_found_where_their_words_stand_side_by_side(texts in texts(), phrase in prop::collection::vec(0..WORDS.len(), 1..4)) {
        let wanted = terms(&sentence(&phrase));
        let fits = |(title, body): &Text| {
            has_phrase(&sentence(title), &wanted) || has_phrase(&sentence(body), &wanted)
        };
        let plain = texts.iter().filter(|text| fits(text)).count();
        let question = format!("\"{}\"", sentence(&phrase));
        let found = index(&texts).rank(&question, usize::MAX, None::<fn(&EntryMeta) -> bool>);
        prop_assert_eq!(found.total, plain);
    }
}
