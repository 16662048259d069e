//! Where the files of an action lie: its folder, and its file in it.

/// The action's file in a directory.
pub(super) fn manifest(
    directory: &str,
    read: impl Fn(&str) -> Option<Vec<u8>>,
) -> Option<(String, Vec<u8>)> {
    let paths = ["action.yml", "action.yaml"].map(|name| join(directory, name));
    paths.into_iter().find_map(|path| {
        let bytes = read(&path)?;
        Some((path, bytes))
    })
}

/// The path inside the repository; nothing when it leads out.
pub(super) fn inside(uses: &str) -> Option<String> {
    local_folder(uses).filter(|folder| !folder.starts_with("../"))
}

/// The path from the checkout on of `./a/../b`: in it, or of a folder beside it (`../b`); nothing
/// where it leads further.
pub(super) fn local_folder(uses: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut is_beside = false;
    for part in uses.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.is_empty() && !is_beside => is_beside = true,
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    match (is_beside, parts.join("/")) {
        (false, inside) => Some(inside),
        (true, beside) => (!beside.is_empty()).then(|| format!("../{beside}")),
    }
}

pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}
