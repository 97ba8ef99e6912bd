//! No valid address damages another, whatever else is written.

use std::collections::BTreeMap;

use capdeck_capsule::{
    EntryUri, ExportFormat, ListQuery, MAX_LIST_PAGE_SIZE, Scheme, SearchQuery, StoreError,
    StoreWrite, export,
};
use proptest::prelude::*;

use crate::stage::{Stage, uri};

/// Schemes that are used: built-in ones, and ones that are called like parts of the store.
const SCHEMES: [&str; 9] =
    ["docs", "skills", "api-data", "x", "history", "entries", "knowledge", "trash", "journal"];
/// Names that the store uses for itself somewhere, or that come close to it.
const NAMES: [&str; 12] =
    ["x", "a", "a.b", "b", "X2", "md", "json", "1", "tmp", "capsule", "blobs", "logs"];

#[derive(Debug, Clone)]
enum Action {
    Write(EntryUri),
    Delete(EntryUri),
    Restore(EntryUri),
    Purge(EntryUri),
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned),
        1 => "[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    ]
}

/// Every address that the rules allow can come up, short ones that meet each other most often.
fn address() -> impl Strategy<Value = EntryUri> {
    let path = prop::collection::vec(segment(), 1..=8);
    (prop::sample::select(&SCHEMES[..]), path)
        .prop_filter_map("no address", |(scheme, path)| EntryUri::new(scheme, &path.join("/")).ok())
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => address().prop_map(Action::Write),
        1 => address().prop_map(Action::Delete),
        1 => address().prop_map(Action::Restore),
        1 => address().prop_map(Action::Purge),
    ]
}

/// What there should be: the current version of each address, and the last one of deleted ones.
#[derive(Debug, Default)]
struct Expected {
    current: BTreeMap<EntryUri, u64>,
    deleted: BTreeMap<EntryUri, u64>,
}

fn body(uri: &EntryUri, version: u64) -> String {
    format!("{{\"word\": \"findme\", \"of\": \"{uri}\", \"version\": {version}}}")
}

async fn perform(stage: &Stage, action: &Action, expected: &mut Expected) {
    let owner = stage.owner().await;
    match action {
        Action::Write(uri) => {
            let before = expected.current.get(uri).or(expected.deleted.get(uri));
            let version = before.copied().unwrap_or_default() + 1;
            match owner.write(StoreWrite::replace(uri.clone(), body(uri, version))).await {
                Ok(written) => assert_eq!(written.version, version, "{uri}"),
                Err(StoreError::CaseTwin { .. }) => return,
                Err(error) => panic!("{uri}: {error}"),
            }
            expected.deleted.remove(uri);
            expected.current.insert(uri.clone(), version);
        }
        Action::Delete(uri) => {
            let deleted = owner.delete(uri, None).await;
            match expected.current.remove(uri) {
                Some(version) => {
                    assert_eq!(deleted.unwrap().version, version, "{uri}");
                    expected.deleted.insert(uri.clone(), version);
                }
                None => assert_eq!(deleted.unwrap_err().code(), "not_found", "{uri}"),
            }
        }
        Action::Restore(uri) => {
            let restored = owner.restore(uri, 1, None).await;
            let known = expected.deleted.remove(uri).or(expected.current.remove(uri));
            match known {
                Some(version) => {
                    assert_eq!(restored.unwrap().version, version + 1, "{uri}");
                    expected.current.insert(uri.clone(), version + 1);
                }
                None => assert_eq!(restored.unwrap_err().code(), "not_found", "{uri}"),
            }
        }
        Action::Purge(uri) => {
            let known = expected.current.remove(uri).or(expected.deleted.remove(uri));
            let purged = owner.purge(uri).await;
            assert_eq!(purged.is_ok(), known.is_some(), "{uri}: {purged:?}");
        }
    }
}

/// Everything that can be asked works, and says what was written.
async fn check(stage: &Stage, expected: &Expected) {
    let owner = stage.owner().await;
    let mut request = ListQuery { limit: MAX_LIST_PAGE_SIZE, ..ListQuery::default() };
    let mut listed = BTreeMap::new();
    loop {
        let page = owner.list(request.clone()).await.unwrap();
        listed.extend(page.entries.into_iter().map(|meta| (meta.uri, meta.version)));
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => break,
        }
    }
    assert_eq!(listed, expected.current);
    for (uri, version) in &expected.current {
        assert_eq!(owner.read(uri, None).await.unwrap().entry.meta.version, *version, "{uri}");
        let history = owner.history(uri).await.unwrap();
        assert_eq!(history.len() as u64, *version, "{uri}");
    }
    let found = owner.search(SearchQuery::words("findme")).await.unwrap();
    assert_eq!(found.total, expected.current.len());
    let report = stage.capsules.store("team").await.unwrap().verify().await.unwrap();
    assert!(report.is_clean() && report.remarks.is_empty(), "{report:#?}");
    assert_eq!(report.entries, expected.current.len());
    let target = tempfile::tempdir().unwrap();
    let exported = [
        export(&owner, ExportFormat::Folder, &target.path().join("folder")).await.unwrap(),
        export(&owner, ExportFormat::Tar, &target.path().join("tar")).await.unwrap(),
    ];
    for report in exported {
        assert_eq!(report.entries, expected.current.len());
        assert_eq!(report.skipped, []);
    }
    export(&owner, ExportFormat::GitStream, &target.path().join("git")).await.unwrap();
    owner.collect_blobs().await.unwrap();
    owner.overview().await.unwrap();
}

async fn run(actions: &[Action]) {
    let mut stage = Stage::new().await;
    for scheme in SCHEMES {
        // The first three are built in.
        if !["docs", "skills", "api-data"].contains(&scheme) {
            stage.owner().await.add_scheme(Scheme::named(scheme)).await.unwrap();
        }
    }
    let mut expected = Expected::default();
    for action in actions {
        perform(&stage, action, &mut expected).await;
    }
    check(&stage, &expected).await;
    stage = stage.restarted().await;
    check(&stage, &expected).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_valid_addresses_live_side_by_side(actions in prop::collection::vec(action(), 1..16)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(&actions));
    }
}

#[tokio::test]
async fn an_entry_called_like_a_part_of_the_store_costs_nothing() {
    let write = |address: &str| Action::Write(uri(address));
    // Each of these once made something else unusable.
    run(&[write("skills://x/y")]).await;
    run(&[write("x://a")]).await;
    run(&[write("docs://a"), write("docs://a"), write("docs://a/x"), write("docs://a/x")]).await;
    let nested = [write("docs://a"), write("docs://a/x"), write("docs://a/x")];
    let purge = [Action::Purge(uri("docs://a"))];
    run(&[nested.as_slice(), purge.as_slice()].concat()).await;
    // Longer than the two name fields of a tar header together, at any split.
    let long = [64, 64, 64, 5].map(|length| "n".repeat(length)).join("/");
    run(&[write(&format!("api-data://{long}"))]).await;
}
