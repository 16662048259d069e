//! Logs with readers of all kinds.

use super::*;

const EXITED: ExecEnd = ExecEnd::Exited { code: 0 };
const LONG: Duration = Duration::from_secs(3600);

async fn all(follower: &mut Follower) -> (Vec<u8>, u64, ExecEnd) {
    let (mut output, mut lost) = (Vec::new(), 0);
    loop {
        match follower.next().await {
            LogChunk::Output(_, piece) => output.extend_from_slice(&piece),
            LogChunk::Lost(bytes) => lost += bytes,
            LogChunk::End(end) => return (output, lost, end),
        }
    }
}

#[actix_rt::test]
async fn readers_get_everything_in_order_whenever_they_come() {
    let log = OutputLog::new(0, Duration::ZERO);
    let mut early = log.follow();
    log.push(OutputStream::Stdout, b"one ");
    assert_eq!(
        early.next().await,
        LogChunk::Output(OutputStream::Stdout, "one ".into())
    );
    log.push(OutputStream::Stderr, b"two");
    assert!(log.finish(EXITED));
    assert!(!log.finish(ExecEnd::Killed), "the first end is kept");
    log.push(OutputStream::Stdout, b"after the end");
    assert_eq!(all(&mut early).await, (b"two".to_vec(), 0, EXITED));
    let mut late = log.follow();
    assert_eq!(all(&mut late).await, (b"one two".to_vec(), 0, EXITED));
    assert_eq!(late.next().await, LogChunk::End(EXITED));
}

#[actix_rt::test]
async fn r10_without_readers_the_newest_is_kept_and_the_loss_is_told() {
    let log = OutputLog::new(0, LONG);
    let piece = vec![b'x'; 50_000];
    for _ in 0..1000 {
        assert_eq!(log.push(OutputStream::Stdout, &piece), OutputFlow::Continue);
        assert!(log.sizes().0 <= LEAST_LOG);
    }
    log.finish(EXITED);
    let (output, lost, _) = all(&mut log.follow()).await;
    assert_eq!(output.len() as u64 + lost, 50_000_000);
    assert!(output.len() > LEAST_LOG - piece.len(), "{}", output.len());
}

#[actix_rt::test]
async fn t5_output_of_a_byte_at_a_time_costs_no_more_than_the_limit() {
    let log = OutputLog::new(0, LONG);
    let mut reader = log.follow();
    for number in 0..3_000_000_u32 {
        let stream = [OutputStream::Stdout, OutputStream::Stderr][usize::from(number % 7 == 0)];
        log.push(stream, b"x");
        if number % 1000 == 0 {
            assert!(matches!(
                reader.next().await,
                LogChunk::Output(..) | LogChunk::Lost(_)
            ));
        }
    }
    let pieces = log.kept.lock().pieces.len();
    assert!(pieces * OVERHEAD + log.sizes().0 <= LEAST_LOG, "{pieces}");
    log.finish(EXITED);
    let (output, lost, _) = all(&mut log.follow()).await;
    assert_eq!(output.len() as u64 + lost, 3_000_000);
    log.trim(LEAST_LOG / 2);
    assert!(log.cost() <= LEAST_LOG / 2);
    let (output, lost, _) = all(&mut log.follow()).await;
    assert_eq!(output.len() as u64 + lost, 3_000_000);
}

#[actix_rt::test]
async fn a_piece_that_grows_is_read_on() {
    let log = OutputLog::new(0, LONG);
    let mut reader = log.follow();
    for (stream, text) in [
        (OutputStream::Stdout, "a"),
        (OutputStream::Stdout, "b"),
        (OutputStream::Stderr, "c"),
        (OutputStream::Stdout, "d"),
    ] {
        log.push(stream, text.as_bytes());
        assert_eq!(reader.next().await, LogChunk::Output(stream, text.into()));
    }
    log.finish(EXITED);
    assert_eq!(reader.next().await, LogChunk::End(EXITED));
    let (output, ..) = all(&mut log.follow()).await;
    assert_eq!(output, b"abcd");
}

#[actix_rt::test]
async fn r10_a_reader_that_takes_slows_the_command_and_loses_nothing() {
    let log = OutputLog::new(0, LONG);
    let mut follower = log.follow();
    let writer = Arc::clone(&log);
    let written = actix_rt::spawn(async move {
        let mut held = 0_u32;
        for number in 0..1000_u32 {
            let piece = [(number % 251) as u8; 10_000];
            if writer.push(OutputStream::Stdout, &piece) == OutputFlow::Hold {
                held += 1;
                writer.room().await;
            }
        }
        writer.finish(EXITED);
        held
    });
    let (output, lost, _) = all(&mut follower).await;
    assert_eq!((output.len(), lost), (10_000_000, 0));
    let mut pieces = output.chunks(10_000).zip(0..1000_u32);
    assert!(pieces.all(|(piece, number)| piece.iter().all(|byte| *byte == (number % 251) as u8)));
    assert!(written.await.unwrap() > 0, "it was never held");
}

#[actix_rt::test]
async fn a_reader_that_takes_nothing_stops_nobody_for_ever() {
    let log = OutputLog::new(0, Duration::from_millis(20));
    let mut sleeper = log.follow();
    let piece = vec![0; LEAST_LOG];
    assert_eq!(log.push(OutputStream::Stdout, &piece), OutputFlow::Hold);
    log.room().await;
    assert_eq!(log.push(OutputStream::Stdout, &piece), OutputFlow::Continue);
    log.finish(EXITED);
    let (output, lost, end) = all(&mut sleeper).await;
    assert_eq!(
        (output.len(), lost, end),
        (LEAST_LOG, LEAST_LOG as u64, EXITED)
    );
}

#[actix_rt::test]
async fn the_end_of_a_command_and_of_a_reader_free_who_waits_for_room() {
    for end in [true, false] {
        let log = OutputLog::new(0, LONG);
        let reader = log.follow();
        assert_eq!(
            log.push(OutputStream::Stdout, &vec![0; LEAST_LOG]),
            OutputFlow::Hold
        );
        let waiting = {
            let log = Arc::clone(&log);
            actix_rt::spawn(async move { log.room().await })
        };
        actix_rt::task::yield_now().await;
        if end {
            log.finish(ExecEnd::Killed);
        } else {
            drop(reader);
        }
        waiting.await.unwrap();
    }
}
