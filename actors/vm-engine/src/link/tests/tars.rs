//! How long a tar may take.

use super::*;

/// A total deadline ended what was large on a slow disk, however well it went.
#[test]
fn i17_a_tar_that_moves_takes_as_long_as_it_takes_and_one_that_stands_still_ends() {
    let idle = Duration::from_secs(3);
    let mut lab = greeted();
    let [putting, getting] = [lab.link.clone(), lab.link.clone()];
    // The agent reads all; what is beyond the window waits for its credit.
    let mut read = lab.guest.try_clone().unwrap();
    std::thread::spawn(move || std::io::copy(&mut read, &mut std::io::sink()));
    let tar = vec![1; usize::try_from(WINDOW).unwrap() + 5];
    let put = std::thread::spawn(move || putting.put_tar("/w", &mut &tar[..], idle));
    lab.until_channels(1);
    let got = std::thread::spawn(move || {
        let mut tar = Vec::new();
        getting.get_tar("/w", &mut tar, idle).map(|_| tar)
    });
    lab.until_channels(2);
    for _ in 0..5 {
        std::thread::park_timeout(Duration::from_secs(1));
        lab.say(FIRST, &ToHost::Credit(1));
        lab.say(FIRST + 1, &ToHost::Data(b"x"[..].into()));
    }
    lab.say(FIRST + 1, &ToHost::Finished(TarSummary::default()));
    assert_eq!(got.join().unwrap().unwrap(), b"xxxxx");
    // That it is done may be said only when all of it was sent.
    let is_sent = || {
        let channels = lab.link.connection.channels.lock();
        matches!(
            channels.get(&FIRST).map(|open| open.used),
            Some(ChannelUse::TarIn { sent: true })
        )
    };
    while !is_sent() {
        std::thread::yield_now();
    }
    lab.say(FIRST, &ToHost::Finished(TarSummary::default()));
    put.join().unwrap().unwrap();
    let still = Duration::from_millis(50);
    let is_silent = |of| matches!(of, Err(MachineError::Silent(idle)) if idle == still);
    assert!(is_silent(lab.link.get_tar(
        "/w",
        &mut std::io::sink(),
        still
    )));
    assert!(is_silent(lab.link.put_tar(
        "/w",
        &mut std::io::repeat(1),
        still
    )));
}
