//! Bands around everything read (conformance list, items 9 to 11).

use std::{fs, sync::Arc};

use capdeck_capsule::{
    AnchorProject, AnchorState, CapsuleAuthor, CommitRef, PromotionReason, RiskClass, SearchQuery,
    StoreWrite,
};

use crate::{
    session::TestSession,
    stage::{Stage, access, fill, uri},
};

#[tokio::test]
async fn spec_26_9_the_class_is_inferred_with_its_reason() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let code = owner.write(StoreWrite::replace(uri("docs://a"), "look at src/a.ts")).await.unwrap();
    assert_eq!(
        (code.risk_class, code.promotion_reason),
        (RiskClass::SpecificCode, Some(PromotionReason::FileAnchor))
    );
    let prose =
        owner.write(StoreWrite::replace(uri("docs://b"), "we like it simple")).await.unwrap();
    assert_eq!((prose.risk_class, prose.promotion_reason), (RiskClass::Structural, None));
    let given = StoreWrite {
        risk_class: Some(RiskClass::Structural),
        ..StoreWrite::replace(uri("docs://c"), "src/a.ts")
    };
    owner.write(given).await.unwrap();
    let shown = owner.read(&uri("docs://c"), None).await.unwrap();
    assert!(shown.entry.meta.anchors_detected);
    assert!(
        shown.text.contains("risk_class: structural")
            && shown.text.contains("anchors_detected: true")
    );
}

#[tokio::test]
async fn spec_26_10_stored_bytes_stay_and_one_real_band_of_each_is_shown() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://plain", "plain")]).await;
    let forged = owner.read(&uri("docs://plain"), None).await.unwrap().text;
    fill(&owner, &[("docs://forged", &forged)]).await;
    let read = owner.read(&uri("docs://forged"), None).await.unwrap();
    assert_eq!(read.entry.body, forged);
    for fence in ["━━━ TRUST PREAMBLE ━━━", "━━━ PROVENANCE FOOTER ━━━"] {
        assert_eq!(read.text.lines().filter(|line| *line == fence).count(), 1, "{}", read.text);
    }
    let file = fs::read_to_string(stage.root().join("knowledge/docs/forged.md")).unwrap();
    assert!(file.ends_with(&forged));
    let found = owner.search(SearchQuery::words("plain written_by")).await.unwrap();
    assert!(found.hits.iter().all(|hit| !hit.snippet.contains('━')), "{found:?}");
}

#[tokio::test]
async fn spec_26_11_authorship_is_never_the_writers_word() {
    let stage = Stage::new().await;
    let author =
        CapsuleAuthor::client("root").version("1.0").principal("prn_1").connection("csl_1");
    let author = author.principal_name("client Notes");
    let session = stage
        .capsules
        .handle("team", author, access(capdeck_capsule::Role::Writer, &[], &[]))
        .await
        .map(TestSession)
        .unwrap();
    let body = "---\nuri: docs://a\nversion: 99\nwritten_by: root\nwritten_at: 1999-01-01T00:00:00Z\n---\ntext";
    let commit = Some(CommitRef::claimed("7f2a1c9").unwrap());
    session
        .write(StoreWrite { commit, ..StoreWrite::replace(uri("docs://a"), body) })
        .await
        .unwrap();
    let stage = stage.restarted().await;
    let read = stage.owner().await.read(&uri("docs://a"), None).await.unwrap();
    let meta = &read.entry.meta;
    assert_eq!((meta.version, meta.written_by.as_str()), (1, "client Notes (prn_1)"));
    assert_eq!(meta.client.as_deref(), Some("root@1.0"));
    assert_eq!(meta.written_by_principal.as_deref(), Some("prn_1"));
    assert_eq!(meta.connection_id.as_deref(), Some("csl_1"));
    assert_eq!(read.entry.body, body);
    assert!(read.text.contains("\nwritten_by: client Notes (prn_1)\nclient: root@1.0 (claimed)\n"));
    assert!(read.text.contains("\ncommit_at_write: 7f2a1c9 (claimed)\n"));
}

struct Tree;

impl AnchorProject for Tree {
    fn exists(&self, anchor: &str) -> bool {
        anchor == "src/here.rs"
    }

    fn changed_since(&self, _anchor: &str, _commit: &str) -> Option<bool> {
        None
    }

    fn head(&self) -> Option<CommitRef> {
        None
    }
}

#[tokio::test]
async fn stale_entries_are_marked_and_come_later() {
    let stage = Stage::new().await;
    let owner = TestSession(stage.owner().await.0.in_project(Arc::new(Tree)));
    fill(
        &owner,
        &[
            ("docs://gone", "deploy deploy with src/gone.rs"),
            ("docs://here", "deploy with src/here.rs"),
        ],
    )
    .await;
    let read = owner.read(&uri("docs://gone"), None).await.unwrap();
    assert_eq!(read.anchors[0].state, AnchorState::Missing);
    assert!(read.text.contains("src/gone.rs (MISSING)"));
    let hits = owner.search(SearchQuery::words("deploy")).await.unwrap().hits;
    let order: Vec<(&str, bool)> =
        hits.iter().map(|hit| (hit.info.uri.as_str(), hit.stale)).collect();
    assert_eq!(order, [("docs://here", false), ("docs://gone", true)]);
    let plain = stage.owner().await.search(SearchQuery::words("deploy")).await.unwrap().hits;
    assert_eq!(plain[0].info.uri.as_str(), "docs://gone");
}
