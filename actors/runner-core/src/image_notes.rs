//! What `check` says of the image that a job's machine has to have, by the job's labels.

use crate::debian_packages::{package_note, source_note};
use crate::hosted_label::{FULL_IMAGE, beyond_small_image, is_hosted_ubuntu, is_usual_at_forges};
use crate::plan::{ForeseenJob, PlannedSetup, PlannedWork};
use crate::workflow::Dialect;

/// What is known of the image that a machine with some labels has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelImage {
    /// It is `full`.
    Full,
    /// It is `full` where that is built, else the small one.
    FullOnceBuilt,
    /// It is another, or nobody knows.
    Other,
}

impl LabelImage {
    /// Where nobody has configured machines.
    #[must_use]
    pub fn default_for(labels: &[String], dialect: Dialect) -> Self {
        let is_usual = |label: &String| {
            is_hosted_ubuntu(label) || dialect.is_forge() && is_usual_at_forges(label)
        };
        match labels.iter().any(is_usual) {
            true => Self::FullOnceBuilt,
            false => Self::Other,
        }
    }
}

/// Says it of labels.
pub type ImageOf<'a> = &'a dyn Fn(&[String]) -> LabelImage;

/// What is known of all machines of a job: of different ones the least.
fn image_of(job: &ForeseenJob<'_>, image: ImageOf<'_>) -> LabelImage {
    let mut images = job.machines.iter().map(|machine| image(&machine.labels));
    let first = images.next().unwrap_or(LabelImage::Other);
    images.fold(first, |one, other| match (one, other) {
        (LabelImage::Other, _) | (_, LabelImage::Other) => LabelImage::Other,
        (LabelImage::Full, LabelImage::Full) => LabelImage::Full,
        _ => LabelImage::FullOnceBuilt,
    })
}

/// The notes of a job.
pub(crate) fn image_notes(foreseen: &ForeseenJob<'_>, image: ImageOf<'_>) -> Vec<String> {
    let job = foreseen.job;
    let PlannedWork::Steps(steps) = &job.work else {
        return Vec::new();
    };
    let image = image_of(foreseen, image);
    let what = beyond_small_image(&job.job, steps).join(", and ");
    let build = "`vm-manager image build full`";
    let beyond = match image {
        _ if what.is_empty() => None,
        LabelImage::Full => None,
        LabelImage::FullOnceBuilt => Some(format!(
            "it needs {what}: the image `{FULL_IMAGE}` has that, which its label stands for once it is built ({build})"
        )),
        LabelImage::Other => Some(format!(
            "it needs {what}: the image `{FULL_IMAGE}` has that ({build}), the small one has not"
        )),
    };
    // The packages of a container are its own distribution's.
    let is_debian = image != LabelImage::Other && job.job.container.is_none();
    let packages = is_debian
        .then(|| package_note(steps, &foreseen.copies))
        .flatten();
    let sources = is_debian.then(|| source_note(steps)).flatten();
    let mut notes: Vec<String> = beyond.into_iter().chain(packages).chain(sources).collect();
    for setup in &job.setups {
        let note = setup_note(setup, image);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// What differs from GitHub, where the release is downloaded.
fn setup_note(setup: &PlannedSetup, image: LabelImage) -> String {
    let PlannedSetup {
        uses,
        command,
        newest,
        is_stored,
    } = setup;
    let add = format!("`workflow-runner actions add {uses}`");
    // What the image `full` has none of.
    let is_absent = matches!(*command, "deno" | "bun" | "dotnet") && image != LabelImage::Other;
    // Where Rust's own server was not reached, it is Debian's, which is years old.
    let of_debian = match *command == "rustc" && image != LabelImage::Other {
        true => {
            "; in a `full` that was built without static.rust-lang.org it is Debian's, 1.85 of 2025"
        }
        false => "",
    };
    match newest {
        _ if *is_stored => format!(
            "uses: {uses}: where the job's image has no such release of {command}, the stored original fetches it"
        ),
        _ if is_absent => format!(
            "uses: {uses}: the image `{FULL_IMAGE}` has no {command}; {add} stores the original, which fetches it"
        ),
        Some(newest) => format!(
            "uses: {uses}: {newest} moves with time; here it is the newest that the job's image has{of_debian}, and nothing is downloaded unless the original is stored ({add})"
        ),
        None => format!(
            "uses: {uses}: the job's image has to have the release of {command} that it names, and nothing is downloaded unless the original is stored ({add})"
        ),
    }
}
