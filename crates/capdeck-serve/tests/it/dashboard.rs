//! The dashboard's page and files as a browser gets them.

use capdeck_test::FakePlan;

use crate::served::Setting;

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

#[test]
fn browsers_get_the_page_and_others_a_few_lines() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.client("/");
    let page = client.send("GET", "/", &[BROWSER], b"");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type").unwrap(), "text/html; charset=utf-8");
    assert_eq!(page.header("cache-control").unwrap(), "no-cache");
    assert!(page.header("vary").unwrap().contains("accept"));
    assert!(page.body.starts_with("<!doctype html>") && !page.body.contains("__assets__"));
    for sent in [&[][..], &[("accept", "*/*")], &[("accept", "application/json")]] {
        let plain = client.send("GET", "/", sent, b"");
        assert!(plain.body.starts_with("Capdeck is running."), "{}", plain.body);
    }
    assert_eq!(client.send("POST", "/", &[BROWSER], b"").status, 405);
}

#[test]
fn pages_may_load_what_this_host_serves_and_nothing_else() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.client("/");
    let page = client.send("GET", "/", &[BROWSER], b"");
    let script = address_of(&page.body, "app.js");
    for path in ["/", script.as_str()] {
        let answer = client.send("GET", path, &[BROWSER], b"");
        assert_eq!(
            answer.header("content-security-policy").unwrap(),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
        );
        assert_eq!(answer.header("x-content-type-options").unwrap(), "nosniff");
        assert_eq!(answer.header("referrer-policy").unwrap(), "no-referrer");
        assert_eq!(answer.header("cross-origin-opener-policy").unwrap(), "same-origin");
    }
}

#[test]
fn files_are_kept_for_good_under_the_name_of_their_build() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.client("/");
    let page = client.send("GET", "/", &[BROWSER], b"");
    let script = address_of(&page.body, "app.js");
    let plain = client.send("GET", &script, &[], b"");
    assert_eq!(plain.status, 200);
    assert_eq!(plain.header("cache-control").unwrap(), "public, max-age=31536000, immutable");
    assert_eq!(plain.header("content-type").unwrap(), "text/javascript; charset=utf-8");
    assert!(plain.header("content-encoding").is_none());
    let refused = client.send("GET", &script, &[("accept-encoding", "gzip;q=0")], b"");
    assert!(refused.header("content-encoding").is_none());
    let zipped = client.send("GET", &script, &[("accept-encoding", "br, gzip;q=0.5")], b"");
    assert_eq!(zipped.header("content-encoding").unwrap(), "gzip");
    let tag = plain.header("etag").unwrap().to_owned();
    for known in [tag.as_str(), "\"other\", *", &format!("W/{tag}")] {
        let again = client.send("GET", &script, &[("if-none-match", known)], b"");
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{known}");
    }
    assert_eq!(client.send("GET", &script, &[("if-none-match", "\"other\"")], b"").status, 200);
}

#[test]
fn what_is_not_in_this_build_is_not_there() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.client("/");
    let page = client.send("GET", "/", &[BROWSER], b"");
    let script = address_of(&page.body, "app.js");
    let folder = script.trim_end_matches("/app.js");
    for path in [
        "/assets/0000000000000000/app.js".to_owned(),
        format!("{folder}/index.html"),
        format!("{folder}/../app.js"),
        format!("{folder}/%2e%2e/Cargo.toml"),
        format!("{folder}/pages"),
        format!("{folder}/"),
        folder.to_owned(),
        "/assets".to_owned(),
    ] {
        let answer = client.send("GET", &path, &[], b"");
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.header("cache-control").is_none_or(|value| value == "no-store"), "{path}");
    }
    assert_eq!(client.send("POST", &script, &[], b"").status, 405);
}

#[test]
fn foreign_names_get_no_page() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.client("/");
    assert_eq!(client.send("GET", "/", &[BROWSER, ("host", "evil.example")], b"").status, 403);
}

/// The address by which the page names one of its files.
fn address_of(page: &str, file: &str) -> String {
    let end = format!("/{file}");
    page.split('"').find(|part| part.ends_with(&end)).unwrap().to_owned()
}
