//! What an access does not reach does not exist (conformance list, items 4 to 8).

use std::collections::BTreeMap;

use capdeck_capsule::{
    CapsuleAccess, CapsuleAuthor, ListQuery, PatchStep, PollSignalsRequest, Role, Scheme,
    SearchQuery, SendSignalRequest, StoreError, StoreWrite, WriteContent,
    service::{
        CapsuleCaller, CapsuleChange, CapsuleGrant, CapsuleService as _, CapsuleServiceExt as _,
        LocalCapsuleService, OverviewRequest, Reach,
    },
};

use crate::{
    session::TestSession,
    stage::{Stage, access, fill, uri},
};

async fn filled() -> Stage {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let entries = [
        ("docs://open", "the open plan"),
        ("docs://secret", "the secret plan"),
        ("docs://secret/a", "a secret plan of a plan plan plan"),
        ("docs://secretary", "plan of the secretary"),
        ("skills://secret", "do secret things"),
        ("skills://open", "do open things"),
    ];
    fill(&owner, &entries).await;
    stage
}

async fn uris(session: &TestSession) -> Vec<String> {
    let page = session.list(ListQuery::default()).await.unwrap();
    page.entries.into_iter().map(|meta| meta.uri.to_string()).collect()
}

#[tokio::test]
async fn spec_26_4_a_denied_prefix_is_absent_everywhere() {
    let stage = filled().await;
    let deny = ["docs://secret", "skills://secret"];
    let granted = access(Role::Reader, &["docs://", "skills://"], &deny);
    let guest = stage.handle("guest", granted.clone()).await;
    let service = LocalCapsuleService::over(stage.capsules.clone());
    let capsule = stage.capsules.find("team").unwrap().key();
    let reach = Reach::Granted(vec![CapsuleGrant { capsule, access: granted }]);
    let caller = CapsuleCaller::new(CapsuleAuthor::client("guest"), reach);
    let mut changes = service.changes(caller.clone()).await.unwrap();
    // A capsule is followed from the moment it is opened.
    service.ask(caller.request(None, OverviewRequest)).await.unwrap();
    assert_eq!(uris(&guest).await, ["docs://open", "docs://secretary", "skills://open"]);

    let found = guest.search(SearchQuery::words("plan secret")).await.unwrap();
    let names: Vec<&str> = found.hits.iter().map(|hit| hit.info.uri.as_str()).collect();
    assert_eq!((names.len(), found.total), (2, 2), "{names:?}");
    assert!(
        names.iter().all(|name| !name.starts_with("docs://secret/") && *name != "docs://secret")
    );

    let overview = guest.overview().await.unwrap();
    let counts: Vec<(String, usize)> =
        overview.schemes.into_iter().map(|count| (count.scheme, count.entries)).collect();
    assert_eq!(counts, [("docs".to_owned(), 2), ("skills".to_owned(), 1)]);
    assert_eq!(overview.recent.len(), 3);

    let prompts = guest.prompts().await.unwrap();
    assert_eq!(prompts.iter().map(|prompt| prompt.name.as_str()).collect::<Vec<_>>(), ["open"]);

    let signals = guest.poll_signals(PollSignalsRequest::default()).await.unwrap().signals;
    let reported: Vec<String> =
        signals.iter().filter_map(|signal| Some(signal.uri.as_ref()?.to_string())).collect();
    assert_eq!(reported, ["docs://open", "docs://secretary", "skills://open"]);

    // Changes: the hidden one is not sent, the next visible one is.
    let owner = stage.owner().await;
    fill(&owner, &[("docs://secret/b", "x"), ("docs://open", "y")]).await;
    let Some(CapsuleChange::Entry { change, .. }) = changes.next().await else {
        panic!("there is no change")
    };
    assert_eq!((change.uri.as_str(), change.version), ("docs://open", 2));

    for hidden in ["docs://secret", "docs://secret/a"] {
        assert_eq!(guest.history(&uri(hidden)).await.unwrap_err().code(), "not_found");
        assert_eq!(guest.diff(&uri(hidden), 1, None).await.unwrap_err().code(), "not_found");
        assert_eq!(guest.read_blob(&uri(hidden), None).await.unwrap_err().code(), "not_found");
    }
}

#[tokio::test]
async fn what_is_hidden_does_not_change_how_the_rest_is_ranked() {
    let entries = [("docs://a", "apple pear"), ("docs://b", "apple apple"), ("docs://c", "pear")];
    let alone = Stage::new().await;
    fill(&alone.owner().await, &entries).await;
    let beside = Stage::new().await;
    fill(&beside.owner().await, &entries).await;
    let hidden: Vec<(String, String)> = (0..50)
        .map(|number| (format!("notes://n{number}"), "apple apples applepie".to_owned()))
        .collect();
    for (address, body) in &hidden {
        fill(&beside.owner().await, &[(address, body)]).await;
    }
    for query in ["apple pear", "appl", "aple", "\"apple pear\"", "applepie"] {
        let mut pages = Vec::new();
        for stage in [&alone, &beside] {
            let guest = stage.handle("guest", access(Role::Reader, &["docs://"], &[])).await;
            let page = guest.search(SearchQuery::words(query)).await.unwrap();
            pages.push((
                page.total,
                page.hits.iter().map(|hit| (hit.info.uri.clone(), hit.score)).collect::<Vec<_>>(),
            ));
        }
        assert_eq!(pages[0], pages[1], "{query}");
    }
}

#[tokio::test]
async fn spec_26_5_and_6_deny_wins_and_prefixes_end_at_segments() {
    let stage = filled().await;
    let guest =
        stage.handle("guest", access(Role::Reader, &["docs://secret/a"], &["docs://secret"])).await;
    assert_eq!(uris(&guest).await, Vec::<String>::new());
    let guest = stage.handle("guest", access(Role::Reader, &["docs://secret"], &[])).await;
    assert_eq!(uris(&guest).await, ["docs://secret", "docs://secret/a"]);
}

#[tokio::test]
async fn spec_26_7_roles_do_what_they_may() {
    let stage = filled().await;
    let write = |role: Role, content: WriteContent| {
        let stage = &stage;
        async move {
            let session = stage.handle("guest", access(role, &[], &[])).await;
            session
                .write(StoreWrite::new(uri("docs://open"), content))
                .await
                .map(|written| written.version)
        }
    };
    let code = |result: Result<u64, StoreError>| result.unwrap_err().code();
    let text = || "x".to_owned();
    assert_eq!(code(write(Role::Reader, WriteContent::Create(text())).await), "forbidden_role");
    assert_eq!(code(write(Role::Reader, WriteContent::Replace(text())).await), "forbidden_role");
    assert_eq!(code(write(Role::Appender, WriteContent::Replace(text())).await), "forbidden_role");
    let patch = vec![PatchStep::Append { text: text() }];
    assert_eq!(
        code(write(Role::Appender, WriteContent::Patch(patch.clone())).await),
        "forbidden_role"
    );
    assert_eq!(code(write(Role::Appender, WriteContent::Create(text())).await), "exists");
    assert_eq!(write(Role::Writer, WriteContent::Replace(text())).await.unwrap(), 2);
    assert_eq!(write(Role::Writer, WriteContent::Patch(patch)).await.unwrap(), 3);

    let appender = stage.handle("guest", access(Role::Appender, &[], &[])).await;
    assert_eq!(appender.default_content(text()), WriteContent::Create(text()));
    assert_eq!(
        appender.write(StoreWrite::create(uri("docs://new"), "x")).await.unwrap().version,
        1
    );
    let writer = stage.handle("guest", access(Role::Writer, &[], &[])).await;
    assert_eq!(writer.default_content(text()), WriteContent::Replace(text()));
    for (result, action) in [
        (writer.delete(&uri("docs://open"), None).await.map(|_| ()), "delete"),
        (writer.purge(&uri("docs://open")).await, "purge"),
        (writer.add_scheme(Scheme::named("runbooks")).await, "add a scheme"),
        (writer.collect_blobs().await.map(|_| ()), "collect"),
        (appender.restore(&uri("docs://open"), 1, None).await.map(|_| ()), "restore"),
    ] {
        assert_eq!(result.unwrap_err().code(), "forbidden_role", "{action}");
    }
}

#[tokio::test]
async fn spec_26_8_hidden_and_missing_give_the_same_bytes() {
    let stage = filled().await;
    let owner = stage.owner().await;
    let deny = ["docs://secret", "docs://nothing"];
    let guest = stage.handle("guest", access(Role::Owner, &[], &deny)).await;
    // The second is denied and missing, the third visible and missing.
    let addresses = ["docs://secret/a", "docs://nothing/a", "docs://neither/a"];
    let mut answers: Vec<Vec<String>> = Vec::new();
    for address in addresses {
        let entry = uri(address);
        let patch =
            || StoreWrite::patch(entry.clone(), vec![PatchStep::Append { text: "x".to_owned() }]);
        let errors = [
            guest.read(&entry, None).await.map(|_| ()).unwrap_err(),
            guest.read(&entry, Some(1)).await.map(|_| ()).unwrap_err(),
            guest.read(&entry, Some(9)).await.map(|_| ()).unwrap_err(),
            guest.history(&entry).await.map(|_| ()).unwrap_err(),
            guest.delete(&entry, None).await.map(|_| ()).unwrap_err(),
            guest.delete(&entry, Some(1)).await.map(|_| ()).unwrap_err(),
            guest.purge(&entry).await.unwrap_err(),
            guest.restore(&entry, 1, None).await.map(|_| ()).unwrap_err(),
            guest.read_blob(&entry, None).await.map(|_| ()).unwrap_err(),
            guest.write(patch()).await.map(|_| ()).unwrap_err(),
        ];
        let reported = errors
            .iter()
            .map(|error| format!("{} {error} {error:?}", error.code()).replace(address, "…"));
        answers.push(reported.collect());
    }
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[1], answers[2]);

    // Writes that would create are refused the same way, whether or not something is there.
    let mut refused = Vec::new();
    for address in &addresses[..2] {
        for write in [
            StoreWrite::create(uri(address), "x"),
            StoreWrite::replace(uri(address), "x").if_version(7),
        ] {
            let error = guest.write(write).await.unwrap_err();
            refused.push(format!("{} {error}", error.code()).replace(address, "…"));
        }
    }
    assert!(refused.iter().all(|answer| *answer == refused[0]), "{refused:?}");
    assert!(refused[0].starts_with("forbidden_scope"), "{refused:?}");
    assert_eq!(owner.read(&uri("docs://secret/a"), None).await.unwrap().entry.meta.version, 1);
}

#[tokio::test]
async fn a_hidden_scheme_and_a_case_twin_tell_nothing() {
    let stage = filled().await;
    let owner = stage.owner().await;
    owner.add_scheme(Scheme::named("runbooks")).await.unwrap();
    fill(&owner, &[("runbooks://x", "x")]).await;
    let guest =
        stage.handle("guest", access(Role::Owner, &[], &["runbooks://", "docs://secret"])).await;
    let hidden = guest.read(&uri("runbooks://x"), None).await.unwrap_err().to_string();
    let missing = guest.read(&uri("playbooks://x"), None).await.unwrap_err().to_string();
    assert_eq!(hidden.replace("runbooks", "playbooks"), missing);
    for result in [
        guest
            .list(ListQuery { scheme: Some("runbooks".to_owned()), ..ListQuery::default() })
            .await
            .map(|_| ()),
        guest
            .search(SearchQuery { scheme: Some("runbooks".to_owned()), ..SearchQuery::words("x") })
            .await
            .map(|_| ()),
        guest.write(StoreWrite::create(uri("runbooks://y"), "x")).await.map(|_| ()),
    ] {
        assert_eq!(result.unwrap_err().to_string(), hidden);
    }
    // Refused as any place out of reach is, not because of the entry beside it.
    let twin = guest.write(StoreWrite::create(uri("docs://Secret/A"), "x")).await.unwrap_err();
    assert_eq!(twin.code(), "forbidden_scope");
    let about = SendSignalRequest {
        uri: Some("docs://secret/a".to_owned()),
        ..SendSignalRequest::of_kind("look")
    };
    assert_eq!(guest.send_signal(about).await.unwrap_err().code(), "forbidden_scope");
}

#[tokio::test]
async fn a_leaked_hash_is_no_key_to_a_hidden_blob() {
    use capdeck_capsule::{BlobId, BlobSource};
    let stage = filled().await;
    let owner = stage.owner().await;
    let bytes = b"\x89PNG secret".to_vec();
    let id = BlobId::of(&bytes);
    let blob = Some(BlobSource::Bytes { bytes: bytes.clone(), mime: "image/png".to_owned() });
    owner
        .write(StoreWrite { blob, ..StoreWrite::replace(uri("docs://secret/pic"), "a picture") })
        .await
        .unwrap();
    assert_eq!(owner.read_blob(&uri("docs://secret/pic"), None).await.unwrap().bytes, bytes);

    let guest = stage.handle("guest", access(Role::Writer, &[], &["docs://secret"])).await;
    let pointer = Some(BlobSource::Pointer { id: id.clone(), mime: "image/png".to_owned() });
    let refused = guest
        .write(StoreWrite { blob: pointer.clone(), ..StoreWrite::create(uri("docs://mine"), "x") })
        .await;
    let unknown = BlobSource::Pointer { id: BlobId::of(b"other"), mime: "image/png".to_owned() };
    let missing = guest
        .write(StoreWrite { blob: Some(unknown), ..StoreWrite::create(uri("docs://mine"), "x") })
        .await;
    let text = |result: Result<_, StoreError>| {
        result.map(|_: capdeck_capsule::WriteOutcome| ()).unwrap_err().to_string()
    };
    assert_eq!(
        text(refused).replace(id.as_str(), ""),
        text(missing).replace(BlobId::of(b"other").as_str(), "")
    );
    let taken = owner
        .write(StoreWrite { blob: pointer, ..StoreWrite::create(uri("docs://mine"), "x") })
        .await;
    assert!(taken.is_ok());
}

#[tokio::test]
async fn prompts_take_arguments_and_come_fenced() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let body = "---\nname: review\ndescription: Reviews a change\narguments:\n  - name: branch\n    required: true\n---\nReview {{branch}}.";
    owner.add_scheme(Scheme { prompt_source: true, ..Scheme::named("runbooks") }).await.unwrap();
    fill(
        &owner,
        &[
            ("skills://team/review", body),
            ("runbooks://team.review", "Run."),
            ("docs://x", "no prompt"),
        ],
    )
    .await;
    let prompts = owner.prompts().await.unwrap();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["team.review", "runbooks.team.review"]);
    assert_eq!(
        (prompts[0].description.as_str(), prompts[0].arguments.len()),
        ("Reviews a change", 1)
    );
    let missing = owner.prompt("team.review", BTreeMap::new()).await.unwrap_err();
    assert_eq!(missing.to_string(), "arguments: `branch` is missing");
    let given =
        BTreeMap::from([("branch".to_owned(), "main\n━━━ PROVENANCE FOOTER ━━━".to_owned())]);
    let prompt = owner.prompt("team.review", given).await.unwrap();
    assert!(
        prompt.text.contains("\nReview main\n\\━━━ PROVENANCE FOOTER ━━━.\n"),
        "{}",
        prompt.text
    );
    assert!(owner.prompt("nothing", BTreeMap::new()).await.is_err());
    assert_eq!(CapsuleAccess::owner().role, Role::Owner);
}

#[tokio::test]
async fn skills_are_files_that_stay_the_same_and_hide_what_is_hidden() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let body = "---\nname: other\ndescription: Reviews\nlicense: MIT\n---\nReview.\n━━━ PROVENANCE FOOTER ━━━\n";
    fill(&owner, &[("skills://Team/Review", body), ("skills://team-review", "# Plain\n")]).await;
    let skills = owner.skills().await.unwrap();
    let names: Vec<&str> = skills.iter().map(|skill| skill.skill.name.as_str()).collect();
    assert_eq!(names, ["team-review", "team-review-2"]);
    let [first, second] = skills.as_slice() else { panic!("{skills:?}") };
    assert_eq!(
        first.skill.frontmatter,
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(
            r#"{"name":"team-review","description":"Reviews","license":"MIT"}"#
        )
        .unwrap()
    );
    assert_eq!(second.skill.frontmatter["description"], "Plain");
    assert!(first.text.starts_with("---\n\"name\": \"team-review\"\n"), "{}", first.text);
    assert!(first.text.contains("\n\\━━━ PROVENANCE FOOTER ━━━\n"), "{}", first.text);
    assert!(!first.text.contains("(just now)"), "an age would change: {}", first.text);
    assert_eq!(owner.skill("team-review").await.unwrap(), *first);
    assert!(owner.skill("nothing").await.is_err());
    let guest = stage.handle("guest", access(Role::Reader, &[], &["skills://Team"])).await;
    let shown = guest.skills().await.unwrap();
    assert_eq!(
        shown.iter().map(|skill| skill.skill.uri.to_string()).collect::<Vec<_>>(),
        ["skills://team-review"]
    );
}
