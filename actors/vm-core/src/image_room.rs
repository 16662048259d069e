//! Which of the images that were fetched go, without I/O: those that were used longest ago, beyond
//! what they may take together.

use std::time::Duration;

/// An image that was used this lately stays: whoever had it fetched asks for it once more.
pub const RECENT_USE: Duration = Duration::from_secs(600);

/// An image that was fetched, and can be again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedImage {
    /// Its digest.
    pub digest: String,
    /// Bytes it takes on the host.
    pub bytes: u64,
    /// Time since it was last asked for, or came.
    pub idle: Duration,
    /// Whether a VM or a template stands on it, or the configuration names it.
    pub is_needed: bool,
}

/// The digests of the images to remove, first the one that was used longest ago, so that they take
/// at most `most` bytes together with `coming` ones; fewer where others are needed or were used
/// lately.
#[must_use]
pub fn images_to_remove(images: &[FetchedImage], most: u64, coming: u64) -> Vec<String> {
    let taken = images.iter().map(|image| image.bytes);
    let mut taken = taken.fold(coming, u64::saturating_add);
    let mut idle: Vec<&FetchedImage> = images
        .iter()
        .filter(|image| !image.is_needed && image.idle >= RECENT_USE)
        .collect();
    idle.sort_by(|a, b| (b.idle, &a.digest).cmp(&(a.idle, &b.digest)));
    let mut gone = Vec::new();
    for image in idle {
        if taken <= most {
            break;
        }
        taken -= image.bytes;
        gone.push(image.digest.clone());
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(digest: &str, bytes: u64, minutes: u64, is_needed: bool) -> FetchedImage {
        FetchedImage {
            digest: digest.to_owned(),
            bytes,
            idle: Duration::from_secs(minutes * 60),
            is_needed,
        }
    }

    #[test]
    fn i18_the_images_that_were_used_longest_ago_go_and_none_that_is_needed() {
        let images = [
            image("a", 40, 30, false),
            image("b", 30, 90, true),
            image("c", 20, 60, false),
            image("d", 10, 9, false),
            image("e", 5, 60, false),
        ];
        for (most, coming, gone) in [
            (105, 0, &[][..]),
            (u64::MAX, u64::MAX, &[]),
            (104, 0, &["c"]),
            (85, 0, &["c"]),
            (84, 0, &["c", "e"]),
            (105, 20, &["c"]),
            (105, 26, &["c", "e", "a"]),
            // What is needed and what was just used stays, whatever it takes.
            (0, 0, &["c", "e", "a"]),
            (0, u64::MAX, &["c", "e", "a"]),
        ] {
            assert_eq!(
                images_to_remove(&images, most, coming),
                gone,
                "{most} {coming}"
            );
        }
        assert_eq!(images_to_remove(&[], 0, 1), [] as [String; 0]);
    }
}
