//! Programs of PyPI for an image: fetched by the host's pip as wheels, installed by the image's
//! own.

use std::path::Path;
use std::process::Command;

use super::tool::quoted;
use super::{ImageError, Recipe, files, tool};
use crate::event::OnProgress;

/// Fetches what the recipe asks for; hooks of mmdebstrap that put it into the image.
pub(super) fn fetch(
    recipe: &Recipe,
    work: &Path,
    progress: OnProgress<'_>,
) -> Result<Vec<String>, ImageError> {
    if recipe.python.is_empty() {
        return Ok(Vec::new());
    }
    let folder = work.join("python");
    std::fs::create_dir(&folder).map_err(files("making", &folder))?;
    for program in &recipe.python {
        progress(&format!("fetching {program}"));
        let mut command = Command::new("pip3");
        command.args(["download", "--quiet", "--no-deps", "--only-binary=:all:"]);
        tool::run(command.arg("--dest").arg(&folder).arg(program))?;
    }
    Ok(vec![install(&folder.to_string_lossy())])
}

/// Installs the wheels of a folder, as the system's packages are managed by somebody else.
fn install(folder: &str) -> String {
    let wheels = "\"$1/tmp/wheels\"";
    let pip = "pip3 install --quiet --no-index --no-deps --break-system-packages --root-user-action=ignore";
    [
        format!("cp -r {} {wheels}", quoted(folder)),
        format!("chroot \"$1\" sh -c '{pip} /tmp/wheels/*.whl'"),
        format!("rm -r {wheels}"),
    ]
    .join(" && ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_wheels_are_installed_by_the_pip_of_the_image() {
        let hook = install("/w/it's");
        assert!(
            hook.starts_with(
                "cp -r '/w/it'\\''s' \"$1/tmp/wheels\" && chroot \"$1\" sh -c 'pip3 install "
            ),
            "{hook}"
        );
        assert!(hook.ends_with(" && rm -r \"$1/tmp/wheels\""), "{hook}");
        let none = fetch(&Recipe::default_image(), Path::new("/"), &|_| {});
        assert!(none.unwrap().is_empty());
    }
}
