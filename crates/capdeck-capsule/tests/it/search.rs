//! Finding entries by what they say.

use capdeck_capsule::{CapsuleAuthor, RiskClass, Role, SearchQuery, StoreWrite};

use crate::{
    session::TestSession,
    stage::{Stage, access, fill, uri},
};

async fn found(session: &TestSession, request: SearchQuery) -> Vec<String> {
    let page = session.search(request).await.unwrap();
    page.hits.into_iter().map(|hit| hit.info.uri.to_string()).collect()
}

async fn library() -> Stage {
    let stage = Stage::new().await;
    let entries = [
        (
            "docs://deploy",
            "# Deployment\n\nHow the service is deployed to production with blue green switches.",
        ),
        (
            "docs://auth",
            "# Authentication\n\nTokens expire after an hour. Deployments of the auth service need care.",
        ),
        ("notes://incident", "The database was slow. Green blue lights. We restarted it."),
        ("guidance://style", "Prefer small functions. Name things well."),
        ("api-data://user", "{\"properties\": {\"userName\": {\"type\": \"string\"}}}"),
    ];
    fill(&stage.owner().await, &entries).await;
    stage
}

#[tokio::test]
async fn words_beginnings_phrases_and_typing_errors_find() {
    let stage = library().await;
    let owner = stage.owner().await;
    let find = |query: &str| found(&owner, SearchQuery::words(query));
    assert_eq!(find("deploy production").await[0], "docs://deploy");
    assert_eq!(find("authentication").await[0], "docs://auth");
    assert_eq!(find("authent").await, ["docs://auth"]);
    assert_eq!(find("databse").await, ["notes://incident"]);
    assert_eq!(find("restrated").await, ["notes://incident"]);
    assert_eq!(find("\"blue green\"").await, ["docs://deploy"]);
    assert_eq!(find("\"green blue\"").await, ["notes://incident"]);
    assert_eq!(find("\"blue production\"").await, Vec::<String>::new());
    assert_eq!(find("fun*").await, ["guidance://style"]);
    assert_eq!(find("user name").await[0], "api-data://user");
    assert_eq!(find("nonexistentword").await, Vec::<String>::new());
    let error = owner.search(SearchQuery::words(" ?! ")).await.unwrap_err();
    assert_eq!(error.code(), "invalid_input");
}

#[tokio::test]
async fn filters_narrow_and_pages_go_on() {
    let stage = library().await;
    let owner = stage.owner().await;
    let other = stage
        .capsules
        .handle(
            "team",
            CapsuleAuthor::client("Bot").principal("prn_9"),
            access(Role::Writer, &[], &[]),
        )
        .await
        .map(TestSession)
        .unwrap();
    let tags = Some(vec!["ops".to_owned()]);
    other
        .write(StoreWrite {
            tags,
            ..StoreWrite::replace(uri("notes://deploy/today"), "deployed src/main.rs today")
        })
        .await
        .unwrap();
    let base = SearchQuery::words("deploy");
    let all = found(&owner, base.clone()).await;
    assert_eq!(all.len(), 3, "{all:?}");
    let only = ["notes://deploy/today"];
    assert_eq!(
        found(&owner, SearchQuery { scheme: Some("notes".to_owned()), ..base.clone() }).await,
        only
    );
    assert_eq!(
        found(&owner, SearchQuery { tags: vec!["ops".to_owned()], ..base.clone() }).await,
        only
    );
    assert_eq!(
        found(&owner, SearchQuery { author: Some("bot".to_owned()), ..base.clone() }).await,
        only
    );
    assert_eq!(
        found(&owner, SearchQuery { author: Some("prn_9".to_owned()), ..base.clone() }).await,
        only
    );
    assert_eq!(
        found(&owner, SearchQuery { risk_class: Some(RiskClass::SpecificCode), ..base.clone() })
            .await,
        only
    );
    assert_eq!(
        found(&owner, SearchQuery { prefix: Some("notes://deploy".to_owned()), ..base.clone() })
            .await,
        only
    );
    let written =
        owner.read(&uri("notes://deploy/today"), None).await.unwrap().entry.meta.written_at;
    let before = SearchQuery {
        written_before: Some("2020-01-01T00:00:00Z".parse().unwrap()),
        ..base.clone()
    };
    assert!(found(&owner, before).await.is_empty());
    let after = SearchQuery { written_after: Some(written), ..base.clone() };
    assert!(found(&owner, after).await.is_empty());

    let mut request = SearchQuery { limit: 1, ..base };
    let mut seen = Vec::new();
    loop {
        let page = owner.search(request.clone()).await.unwrap();
        assert_eq!(page.total, 3);
        seen.extend(page.hits.into_iter().map(|hit| hit.info.uri.to_string()));
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => break,
        }
    }
    assert_eq!(seen, all);
    request.query = "other".to_owned();
    assert_eq!(owner.search(request).await.unwrap_err().code(), "bad_cursor");
}

#[tokio::test]
async fn the_index_follows_every_write() {
    let stage = library().await;
    let owner = stage.owner().await;
    let find = |query: &str| found(&owner, SearchQuery::words(query));
    assert!(find("zebra").await.is_empty());
    fill(&owner, &[("docs://zoo", "zebra")]).await;
    assert_eq!(find("zebra").await, ["docs://zoo"]);
    fill(&owner, &[("docs://zoo", "giraffe")]).await;
    assert!(find("zebra").await.is_empty());
    assert_eq!(find("giraffe").await, ["docs://zoo"]);
    owner.delete(&uri("docs://zoo"), None).await.unwrap();
    assert!(find("giraffe").await.is_empty());
    owner.restore(&uri("docs://zoo"), 1, None).await.unwrap();
    assert_eq!(find("zebra").await, ["docs://zoo"]);
    owner.purge(&uri("docs://zoo")).await.unwrap();
    assert!(find("zebra").await.is_empty());
    // Enough changes that the index is put in order again.
    for round in 0..1_200 {
        fill(&owner, &[("docs://busy", &format!("round{round} busy"))]).await;
    }
    assert_eq!(find("busy").await, ["docs://busy"]);
    assert_eq!(find("\"round1199 busy\"").await, ["docs://busy"]);
    assert_eq!(find("\"blue green\"").await, ["docs://deploy"]);
    assert!(find("round7").await.iter().all(|uri| uri == "docs://busy"));
}
