//! Tests of numbering, bounds and the single reader.

use std::future::poll_fn;

use super::*;

fn poll<T>(mut step: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    step(&mut Context::from_waker(Waker::noop()))
}

fn read_all(stream: &EventStream, mut position: u64, ticket: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Poll::Ready(Some((number, _))) =
        poll(|context| stream.poll_after(position, ticket, context))
    {
        numbers.push(number);
        position = number;
    }
    numbers
}

#[test]
fn a_reader_goes_on_after_any_number_and_ends_with_the_last_answer() {
    let stream = EventStream::for_answers(1, 1, ReaderBehaviour::ComeBack);
    stream.push(Bytes::from_static(b"a"));
    stream.push(Bytes::from_static(b"b"));
    let first = stream.attach();
    assert_eq!(read_all(&stream, 0, first), [1, 2]);
    stream.push_answer(Bytes::from_static(b"c"));
    let second = stream.attach();
    assert_eq!(poll(|context| stream.poll_after(2, first, context)), Poll::Ready(None), "replaced");
    assert_eq!(read_all(&stream, 1, second), [2, 3]);
    assert_eq!(poll(|context| stream.poll_after(3, second, context)), Poll::Ready(None));
    assert!(!stream.push(Bytes::from_static(b"late")));
}

#[test]
fn unread_notifications_are_bounded_and_answers_are_not_lost() {
    let stream = EventStream::for_answers(1, 1, ReaderBehaviour::ComeBack);
    let taken = (0..5000).filter(|_| stream.offer(Bytes::from_static(b"n"))).count();
    assert_eq!(taken, MAX_EVENTS);
    stream.push_answer(Bytes::from_static(b"answer"));
    let ticket = stream.attach();
    assert_eq!(read_all(&stream, 0, ticket).len(), MAX_EVENTS + 1);
}

#[test]
fn what_was_read_is_forgotten_oldest_first() {
    let stream = EventStream::for_session(0);
    let ticket = stream.attach();
    let message = Bytes::from(vec![b'x'; MAX_BYTES / 4]);
    let mut position = 0;
    for _ in 0..20 {
        assert!(stream.offer(message.clone()));
        position = *read_all(&stream, position, ticket).last().unwrap();
    }
    let again = stream.attach();
    assert_eq!(read_all(&stream, 0, again), [17, 18, 19, 20]);
}

#[tokio::test]
async fn a_beginning_is_all_answers_or_the_first_other_message() {
    let quick = EventStream::for_answers(1, 2, ReaderBehaviour::ComeBack);
    quick.push_answer(Bytes::from_static(b"1"));
    assert!(poll(|context| quick.poll_beginning(context)).is_pending());
    quick.push_answer(Bytes::from_static(b"2"));
    let answers = vec![Bytes::from_static(b"1"), Bytes::from_static(b"2")];
    assert_eq!(
        poll_fn(|context| quick.poll_beginning(context)).await,
        StreamStart::AnswersOnly(answers)
    );

    let talking = EventStream::for_answers(1, 1, ReaderBehaviour::ComeBack);
    talking.offer(Bytes::from_static(b"progress"));
    talking.push_answer(Bytes::from_static(b"1"));
    assert_eq!(poll_fn(|context| talking.poll_beginning(context)).await, StreamStart::Mixed);
}

#[test]
fn a_pause_ends_the_connection_and_not_the_stream() {
    let stream = EventStream::for_answers(1, 1, ReaderBehaviour::ComeBack);
    stream.push(Bytes::from_static(b"before"));
    let first = stream.attach();
    stream.pause();
    assert_eq!(read_all(&stream, 0, first), [1], "what is there is read first");
    stream.push_answer(Bytes::from_static(b"answer"));
    let second = stream.attach();
    assert_eq!(read_all(&stream, 1, second), [2]);

    let away = EventStream::for_answers(3, 1, ReaderBehaviour::ComeBack);
    away.detach(away.attach());
    away.pause();
    let back = away.attach();
    assert!(poll(|context| away.poll_after(0, back, context)).is_pending());

    let staying = EventStream::for_answers(2, 1, ReaderBehaviour::Stay);
    let reader = staying.attach();
    staying.pause();
    assert!(poll(|context| staying.poll_after(0, reader, context)).is_pending());
}

#[test]
fn a_large_answer_that_was_read_to_its_end_is_not_kept() {
    let stream = EventStream::for_answers(1, 1, ReaderBehaviour::ComeBack);
    stream.push(Bytes::from_static(b"note"));
    stream.push_answer(vec![b'x'; LARGE_MESSAGE_BYTES + 1].into());
    let reader = stream.attach();
    assert!(poll(|context| stream.poll_after(1, reader, context)).is_ready());
    assert!(stream.bytes() > LARGE_MESSAGE_BYTES, "its reader may come back");
    assert_eq!(read_all(&stream, 2, reader), [0_u64; 0]);
    assert_eq!(stream.bytes(), 0);
}
