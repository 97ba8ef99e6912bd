//! Tests of every split of a stream, and of its limits.

use proptest::prelude::*;

use super::*;

fn parse(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut parser = SseParser::new(1000);
    for piece in pieces {
        parser.push(piece).unwrap();
    }
    std::iter::from_fn(|| parser.pop()).collect()
}

fn data(text: &str) -> SseEvent {
    SseEvent { data: text.as_bytes().to_vec(), ..SseEvent::default() }
}

#[test]
fn all_line_ends_count() {
    for end in ["\n", "\r", "\r\n"] {
        let text = format!("data: a{end}data:b{end}{end}data: c{end}{end}");
        assert_eq!(parse(&[text.as_bytes()]), [data("a\nb"), data("c")], "{end:?}");
    }
}

#[test]
fn a_carriage_return_at_the_end_of_a_piece_does_not_double_the_line_end() {
    assert_eq!(parse(&[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]), [data("a\nb")]);
}

/// The line feed after a carriage return belongs to it; the one after that ends the event.
#[test]
fn one_line_feed_belongs_to_a_carriage_return() {
    let text = b"data: a\r\n\ndata: b\r\n\n";
    let single: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(parse(&[text]), [data("a"), data("b")]);
    assert_eq!(parse(&single), [data("a"), data("b")]);
}

#[test]
fn a_delay_is_digits() {
    assert_eq!(parse(&[b"retry: +5\n\nretry: -5\n\nretry: 5 \n\nretry:\n\n"]), []);
}

#[test]
fn mark_comments_and_unknown_fields_are_passed_over() {
    let text = "\u{feff}: hello\nfoo: bar\ndata\ndata: x\n\n:\n\n";
    assert_eq!(parse(&[text.as_bytes()]), [data("\nx")]);
}

#[test]
fn ids_and_delays_come_even_without_data() {
    let events = parse(&[b"id: 7\nretry: 250\n\nid: a\0b\nretry: x\nevent: e\ndata: d\n\n"]);
    let first = SseEvent {
        id: Some("7".to_owned()),
        retry: Some(Duration::from_millis(250)),
        ..SseEvent::default()
    };
    let second = SseEvent { name: Some("e".to_owned()), ..data("d") };
    assert_eq!(events, [first, second]);
}

#[test]
fn an_unfinished_event_is_not_given() {
    assert_eq!(parse(&[b"data: a\n"]), []);
}

#[test]
fn an_event_over_the_limit_is_refused_before_it_is_held() {
    let mut parser = SseParser::new(100);
    assert_eq!(parser.push(&[b'x'; 101]), Err(SseSizeError));
    let mut parser = SseParser::new(100);
    assert_eq!(
        parser.push(b"data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"),
        Ok(())
    );
    assert_eq!(parser.push(&[b'x'; 50]), Err(SseSizeError));
}

#[test]
fn what_is_written_is_read_back() {
    let mut bytes = encode_priming("3-0", Duration::from_millis(1500)).to_vec();
    bytes.extend_from_slice(&encode_event("3-1", b"{}"));
    let events = parse(&[&bytes]);
    assert_eq!(events[0].retry, Some(Duration::from_millis(1500)));
    assert_eq!((events[0].id.as_deref(), events[0].data.len()), (Some("3-0"), 0));
    assert_eq!(
        (events[1].id.as_deref(), events[1].data.as_slice()),
        (Some("3-1"), b"{}".as_slice())
    );
}

proptest! {
    #[test]
    fn how_the_bytes_arrive_does_not_matter(
        text in "(data: [a-z\u{e9}]{0,9}|id: [0-9]{1,3}|retry: 5|: c|event: m|\n|\r|\r\n|x){0,40}",
        cuts in proptest::collection::vec(0usize..300, 0..10),
    ) {
        let whole = parse(&[text.as_bytes()]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
        prop_assert_eq!(parse(&pieces), whole);
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut parser = SseParser::new(64);
        for piece in bytes.chunks(7) {
            if parser.push(piece).is_err() {
                break;
            }
        }
    }
}
