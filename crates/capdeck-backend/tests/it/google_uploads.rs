//! Uploads: in one request, in two parts, in pieces with interruptions.

use std::{path::PathBuf, time::Duration};

use capdeck_backend::ErrorCode;
use serde_json::{Value, json};

use crate::{
    google_server::{Fault, Google, UNIT},
    people::Person,
    support::{Deck, call},
};

const PIECE: usize = 8 * 1024 * 1024;

/// A file of this length, and the sum of its bytes.
fn file(deck: &Deck, length: usize) -> (PathBuf, u64) {
    let bytes: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
    let path = deck.folder.path().join("content.bin");
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes.iter().map(|byte| u64::from(*byte)).sum())
}

fn ranges(google: &Google) -> Vec<String> {
    let pieces = google.seen().into_iter().filter(|seen| seen.line.starts_with("PUT"));
    pieces.map(|seen| seen.header("content-range").unwrap().to_owned()).collect()
}

#[tokio::test]
async fn small_content_goes_in_one_request() {
    let (google, deck) = (Google::start().await, Deck::new(&[]));
    let arguments = json!({"media": {"dataUrl": "data:text/plain;base64,aGVsbG8="}});
    deck.call(google.block(), "things.insert", arguments).await.unwrap();
    let seen = google.seen().pop().unwrap();
    assert!(
        seen.line.starts_with("POST /upload/things/v1/things?uploadType=media"),
        "{}",
        seen.line
    );
    assert_eq!(
        (seen.header("content-type"), seen.body.as_ref()),
        (Some("text/plain"), &b"hello"[..])
    );
}

#[tokio::test]
async fn content_with_a_body_goes_in_two_parts() {
    let (google, deck) = (Google::start().await, Deck::with_own_project());
    let path = deck.folder.path().join("hello \"you\".txt");
    std::fs::write(&path, "hello").unwrap();
    let arguments = json!({"body": {"name": "x"}, "media": {"path": path}});
    deck.call(google.block(), "things.insert", arguments).await.unwrap();
    let seen = google.seen().pop().unwrap();
    assert_eq!(seen.query()[0], ("uploadType".to_owned(), "multipart".to_owned()));
    let kind = seen.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/related; boundary=").unwrap();
    let expected = format!(
        "--{boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{{\"name\":\"x\"}}\r\n\
         --{boundary}\r\ncontent-type: text/plain\r\ncontent-disposition: attachment; filename=\"hello you.txt\"\r\n\r\n\
         hello\r\n--{boundary}--\r\n"
    );
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn large_content_goes_in_pieces_and_tells_how_far_it_is() {
    let (google, deck) = (Google::start().await, Deck::with_own_project());
    let (path, sum) = file(&deck, 2 * PIECE + 5);
    let arguments = json!({"body": {"name": "x"}, "media": {"path": path, "mimeType": "x/y"}});
    let connection = deck.connect(google.block()).await.unwrap();
    let person = Person::new();
    let context = person.calls(Duration::from_secs(20));
    let result = call(&connection, "things.insert", arguments, &context).await.unwrap();
    assert_eq!(
        result["structuredContent"]["body"],
        json!({"bytes": 2 * PIECE + 5, "sum": sum, "metadata": {"name": "x"}})
    );
    let total = 2 * PIECE + 5;
    assert_eq!(
        ranges(&google),
        [
            format!("bytes 0-{}/{total}", PIECE - 1),
            format!("bytes {PIECE}-{}/{total}", 2 * PIECE - 1),
            format!("bytes {}-{}/{total}", 2 * PIECE, total - 1),
        ]
    );
    let opening = &google.seen()[0];
    assert_eq!(opening.header("x-upload-content-type"), Some("x/y"));
    assert_eq!(opening.header("x-upload-content-length"), Some(total.to_string().as_str()));
    assert_eq!(person.next().await, format!("{{\"progress\":{PIECE},\"total\":{total}}}"));
    assert_eq!(person.next().await, format!("{{\"progress\":{},\"total\":{total}}}", 2 * PIECE));
}

/// Uploads five pieces' worth with these faults and gives the ranges that were sent.
async fn interrupted(faults: &[Fault], length: usize) -> (Result<Value, String>, Vec<String>) {
    let (google, deck) = (Google::start().await, Deck::with_own_project());
    let (path, sum) = file(&deck, length);
    google.fails(faults);
    let arguments = json!({"path": {"thingId": "t"}, "media": {"path": path}});
    let outcome = deck.call(google.block(), "things.load", arguments).await;
    if let Ok(result) = &outcome
        && result["isError"] == false
    {
        assert_eq!(result["structuredContent"]["body"]["sum"], sum);
        assert_eq!(result["structuredContent"]["body"]["bytes"], length);
    }
    (outcome.map_err(|error| error.to_string()), ranges(&google))
}

#[tokio::test]
async fn an_interrupted_upload_goes_on_where_it_was() {
    let total = PIECE + UNIT;
    let ask = format!("bytes */{total}");
    let first = format!("bytes 0-{}/{total}", PIECE - 1);
    let last = format!("bytes {PIECE}-{}/{total}", total - 1);
    let middle = format!("bytes {}-{}/{total}", 3 * UNIT, total - UNIT + 3 * UNIT - 1);
    let rest = format!("bytes {}-{}/{total}", 3 * UNIT, total - 1);
    // From three units on there is less than a whole piece left.
    assert_ne!(middle, rest);
    for (faults, expected) in [
        // Broken off in the middle of a piece, with some of it kept.
        (vec![Fault::Cut(3 * UNIT)], vec![&first, &ask, &rest]),
        // Broken off before anything was kept, and again when asked.
        (vec![Fault::Cut(0), Fault::CutAfterwards], vec![&first, &ask, &ask, &first, &last]),
        // The last piece arrived, its answer did not.
        (vec![Fault::None, Fault::CutAfterwards], vec![&first, &last, &ask]),
        // The server is busy.
        (vec![Fault::Status(503, "0")], vec![&first, &ask, &first, &last]),
        (vec![Fault::None, Fault::Status(429, "0")], vec![&first, &last, &ask, &last]),
        // Less was kept than was sent.
        (vec![Fault::Keep(3 * UNIT)], vec![&first, &rest]),
        // The session is gone: from the beginning.
        (vec![Fault::None, Fault::Forget], vec![&first, &last, &first, &last]),
    ] {
        let (outcome, sent) = interrupted(&faults, total).await;
        assert_eq!(outcome.unwrap()["isError"], false, "{faults:?}");
        assert_eq!(sent.iter().collect::<Vec<_>>(), expected, "{faults:?}");
    }
}

#[tokio::test]
async fn an_upload_that_gets_nowhere_ends() {
    let busy = vec![Fault::Status(503, "0"); 20];
    let (outcome, sent) = interrupted(&busy, UNIT).await;
    assert_eq!(outcome.unwrap()["structuredContent"]["status"], 503);
    assert_eq!(sent.len(), 6);
    let (outcome, sent) = interrupted(&vec![Fault::Keep(0); 20], UNIT).await;
    assert!(outcome.unwrap_err().contains("does not get beyond 0 of 262144 bytes"));
    assert_eq!(sent.len(), 6);
    let (outcome, sent) = interrupted(&[Fault::Forget, Fault::Forget], UNIT).await;
    assert_eq!(outcome.unwrap()["structuredContent"]["status"], 410);
    assert_eq!(sent.len(), 2);
    // A plain refusal is not tried again.
    let (outcome, sent) = interrupted(&[Fault::Status(403, "0")], UNIT).await;
    assert!(outcome.unwrap_err().contains("HTTP 403"));
    assert_eq!(sent.len(), 1);
}

#[tokio::test]
async fn nothing_at_all_can_be_uploaded_in_pieces() {
    let (outcome, sent) = interrupted(&[], 0).await;
    assert_eq!(outcome.unwrap()["structuredContent"]["status"], 200);
    assert_eq!(sent, ["bytes */0"]);
}

#[tokio::test]
async fn a_session_elsewhere_gets_the_content_without_credentials() {
    let (google, elsewhere) = (Google::start().await, Google::start().await);
    let deck = Deck::new(&[]);
    let mut block = google.block();
    block["auth"] = json!({"type": "bearer", "token": "canary-token"});
    let arguments = json!({"path": {"thingId": "t"}, "media": {"dataUrl": "data:,x"}});
    deck.call(block.clone(), "things.load", arguments.clone()).await.unwrap();
    let [opening, piece] = <[_; 2]>::try_from(google.seen()).unwrap();
    assert_eq!(opening.header("authorization"), Some("Bearer canary-token"));
    assert_eq!(piece.header("authorization"), Some("Bearer canary-token"));

    // Plain http to another server is refused, even when the API names it.
    google.has_sessions_at(&elsewhere.url);
    let error = deck.call(block, "things.load", arguments).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::DownstreamProtocolError);
    assert!(error.message.contains("wants the upload sent to"), "{error}");
    assert!(elsewhere.seen().is_empty());
}
