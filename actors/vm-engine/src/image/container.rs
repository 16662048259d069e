//! Images of containers by the same recipes: an OCI layout with one layer, for services that are to
//! be had without a registry.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use vm_core::USUAL_PATH;

use super::build::base;
use super::kernel::KernelScratch;
use super::{ImageError, Recipe, files, node, python, tool};
use crate::event::OnProgress;

/// Makes an OCI layout of a recipe in a new folder; the digest of its manifest.
///
/// # Errors
/// [`ImageError`]; the folder is not made then.
pub fn build_container(
    recipe: &Recipe,
    folder: &Path,
    progress: OnProgress<'_>,
) -> Result<String, ImageError> {
    let parent = folder.parent().filter(|it| !it.as_os_str().is_empty());
    let work = KernelScratch::new(parent.unwrap_or(Path::new(".")))?;
    let mut hooks = node::fetch(recipe, &work.0, progress)?;
    hooks.extend(python::fetch(recipe, &work.0, progress)?);
    progress(&format!(
        "fetching {} packages and what they need",
        recipe.packages.len()
    ));
    let root = rustix::process::geteuid().is_root();
    let tar = work.0.join("layer.tar");
    let mut command = mmdebstrap(recipe, root, &hooks, &tar);
    match root {
        true => tool::run_apart(&command, &work.0)?,
        false => tool::run(&mut command)?,
    }
    progress("writing the layout");
    let layout = work.0.join("layout");
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(files("making", &blobs))?;
    let (diff_id, bytes) = digest_of_file(&tar)?;
    let place = blobs.join(&diff_id);
    fs::rename(&tar, &place).map_err(files("moving", &place))?;
    let keep = |value: serde_json::Value| -> Result<(String, usize), ImageError> {
        let bytes = serde_json::to_vec(&value).expect("texts and numbers are JSON");
        let digest = hex::encode(Sha256::digest(&bytes));
        let path = blobs.join(&digest);
        fs::write(&path, &bytes).map_err(files("writing", &path))?;
        Ok((format!("sha256:{digest}"), bytes.len()))
    };
    let (config, config_bytes) = keep(config(recipe, &diff_id))?;
    let (manifest, manifest_bytes) = keep(json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": config,
            "size": config_bytes,
        },
        "layers": [{
            "mediaType": "application/vnd.oci.image.layer.v1.tar",
            "digest": format!("sha256:{diff_id}"),
            "size": bytes,
        }],
    }))?;
    let index = json!({
        "schemaVersion": 2,
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": manifest,
            "size": manifest_bytes,
            "annotations": {"org.opencontainers.image.ref.name": recipe.name.as_str()},
        }],
    });
    for (name, text) in [
        ("index.json", index.to_string()),
        ("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#.to_owned()),
    ] {
        let path = layout.join(name);
        fs::write(&path, text).map_err(files("writing", &path))?;
    }
    // The folder appears whole or not at all.
    fs::rename(&layout, folder).map_err(files("making", folder))?;
    Ok(manifest)
}

fn mmdebstrap(recipe: &Recipe, root: bool, hooks: &[String], tar: &Path) -> Command {
    let mut command = base(recipe, root, hooks);
    // Nobody installs packages in a service; `/dev` is the host's meanwhile.
    command.arg("--customize-hook=rm -f \"$1\"/var/cache/apt/archives/*.deb");
    command.arg("--format=tar").arg(&recipe.suite).arg(tar);
    command.args(recipe.mirror.iter());
    command
}

/// The configuration of the image.
fn config(recipe: &Recipe, diff_id: &str) -> serde_json::Value {
    let container = &recipe.container;
    let mut env = container.env.clone();
    env.entry("PATH".to_owned())
        .or_insert_with(|| USUAL_PATH.to_owned());
    let env: Vec<String> = env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let ports = container.ports.iter();
    let ports: serde_json::Map<_, _> = ports.map(|port| (port.clone(), json!({}))).collect();
    json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": container.entrypoint,
            "Cmd": container.cmd,
            "Env": env,
            "User": container.user,
            "WorkingDir": container.workdir,
            "ExposedPorts": ports,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{diff_id}")]},
        "history": [{"created_by": "vm-manager image build --oci"}],
    })
}

fn digest_of_file(path: &PathBuf) -> Result<(String, u64), ImageError> {
    let mut hasher = Sha256::new();
    let copied = File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut hasher));
    let bytes = copied.map_err(files("reading", path))?;
    Ok((hex::encode(hasher.finalize()), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_container_starts_as_its_recipe_says() {
        let text = "name = \"redis\"\npackages = [\"redis-server\"]\n[container]\ncmd = [\"redis-server\"]\nuser = \"redis\"\nports = [\"6379/tcp\"]\nenv.A = \"b\"\n";
        let recipe = Recipe::parse(Path::new("r"), text).unwrap();
        let config = config(&recipe, "00");
        assert_eq!(config["config"]["Cmd"], json!(["redis-server"]));
        assert_eq!(config["config"]["User"], "redis");
        assert_eq!(
            config["config"]["Env"],
            json!(["A=b", format!("PATH={USUAL_PATH}")])
        );
        assert_eq!(config["rootfs"]["diff_ids"], json!(["sha256:00"]));
    }
}
