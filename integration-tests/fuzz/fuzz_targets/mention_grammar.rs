//! Comments: limits hold, every mention is where it says, and neutralised text mentions nobody.
#![no_main]

use forge_core::mention::{ScanLimits, neutralise_mentions, scan};
use forge_core::{Marker, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|comment: &str| {
    let limits = ScanLimits {
        mentions: 5,
        line_bytes: 64,
    };
    let mentions = scan(comment, limits);
    assert!(mentions.found.len() <= limits.mentions);
    for mention in &mentions.found {
        let project = mention
            .project
            .as_ref()
            .map(|p| format!("{p}/"))
            .unwrap_or_default();
        let written = format!("@orch:{project}{}", mention.agent);
        assert_eq!(&comment[mention.range.clone()], written);
        assert!(mention.rest_of_line.len() <= limits.line_bytes);
    }
    assert!(scan(&neutralise_mentions(comment), limits).found.is_empty());

    let mark = Marker {
        run: "run-1".parse().expect("a run id"),
        depth: 2,
    };
    let posted = mark.attach(comment);
    assert_eq!(Marker::find(&posted), Some(mark));
    assert!(scan(&posted, limits).found.is_empty());
    assert!(text::shorten(comment, 17).len() <= 17);
});
