//! Images of allowed registries: fetched into a layout of their own, then added like any other.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::time::Duration;

use config_core::Secret;
use http_clients::http::{HttpClient, HttpOptions, Redirects};
use http_clients::registry::{RegistryClient, RegistryCredentials, RegistryError};
use runner_core::container::oci::{self, Descriptor, OciDocument, OciError};
use runner_core::container::stored::digest_of;
use runner_core::container::{Credentials, ImageReference};
use url::Url;

use super::{AddedImage, ContainerImageStore, ImageStoreError, ScratchFolder, source};

/// Where the images of the default registry are.
const DEFAULT_REGISTRY: (&str, &str) = ("docker.io", "registry-1.docker.io");
/// Most bytes of one layer.
const MAX_LAYER: u64 = 16 << 30;

impl ContainerImageStore {
    /// Fetches an image from its registry, which must be allowed, and adds it.
    ///
    /// # Errors
    /// When its registry is not allowed or does not give it, or it is not what its digests say.
    pub async fn pull(
        &self,
        reference: &ImageReference,
        credentials: Option<&Credentials>,
    ) -> Result<AddedImage, ImageStoreError> {
        if !self.allows(reference) {
            let registry = reference.registry().to_owned();
            return Err(ImageStoreError::Registry(registry));
        }
        self.make_folders()?;
        let scratch = ScratchFolder::new(&self.settings.folder)?;
        let client = self.client(reference, credentials)?;
        let pulled = fetch(&client, reference, &scratch.0).await;
        pulled.map_err(|error| {
            let name = reference.familiar();
            ImageStoreError::Pull(format!("{name} could not be fetched: {error}"))
        })?;
        let (store, reference) = (self.clone(), reference.clone());
        let imported = tokio::task::spawn_blocking(move || {
            let shown = reference.registry().to_owned();
            let imported = store.import(&reference, &scratch.0, &shown);
            drop(scratch);
            imported
        });
        let imported = imported.await;
        imported.unwrap_or_else(|error| Err(ImageStoreError::Pull(error.to_string())))
    }

    fn client(
        &self,
        reference: &ImageReference,
        credentials: Option<&Credentials>,
    ) -> Result<RegistryClient, ImageStoreError> {
        let host = match reference.registry() {
            name if name == DEFAULT_REGISTRY.0 => DEFAULT_REGISTRY.1,
            name => name,
        };
        // As with every engine: a registry of this machine may be without TLS.
        let local = host.starts_with("localhost") || host.starts_with("127.");
        let scheme = if local { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{host}/"));
        let base = base.map_err(|_| ImageStoreError::Registry(host.to_owned()))?;
        let http = HttpClient::new(HttpOptions {
            deadline: Duration::from_secs(60),
            redirects: Redirects::Anywhere(5),
            addresses: self.settings.addresses_of(host),
            ..HttpOptions::default()
        });
        let credentials = credentials.map(|credentials| RegistryCredentials {
            username: credentials.username.clone(),
            password: Secret::new(credentials.password.clone()),
        });
        Ok(RegistryClient::new(http, base, credentials))
    }
}

/// Why an image did not come.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Oci(#[from] OciError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("{name} should be {wanted}, and came as {found}: nothing is kept")]
    Digest {
        name: String,
        wanted: String,
        found: String,
    },
}

/// Makes a layout of the image in `folder`. What it holds is checked when it is added.
async fn fetch(
    client: &RegistryClient,
    reference: &ImageReference,
    folder: &Path,
) -> Result<(), FetchError> {
    fs::create_dir_all(folder.join("blobs/sha256"))?;
    let repository = reference.repository();
    let first = client
        .document(repository, reference.version(), &oci::ACCEPTED)
        .await?;
    let top = digest_of(&first);
    if let Some(wanted) = reference.digest().filter(|wanted| *wanted != top) {
        return Err(FetchError::Digest {
            name: reference.familiar(),
            wanted: wanted.to_owned(),
            found: top,
        });
    }
    let mut bytes = first;
    let index = oci::layout_index((&top, bytes.len() as u64), &reference.local_name());
    fs::write(folder.join("index.json"), index)?;
    for _ in 0..4 {
        fs::write(source::blob(folder, &digest_of(&bytes)), &bytes)?;
        match oci::document(&bytes)? {
            OciDocument::Index(manifests) => {
                let one = oci::choose(&manifests, &[])?;
                bytes = client
                    .document(repository, &one.digest, &oci::ACCEPTED)
                    .await?;
            }
            OciDocument::Manifest(manifest) => {
                for blob in manifest.layers.iter().chain([&manifest.config]) {
                    fetch_blob(client, repository, blob, folder).await?;
                }
                return Ok(());
            }
        }
    }
    Err(OciError("its indexes lead to no image".to_owned()).into())
}

async fn fetch_blob(
    client: &RegistryClient,
    repository: &str,
    blob: &Descriptor,
    folder: &Path,
) -> Result<(), FetchError> {
    let path = source::blob(folder, &blob.digest);
    if path.exists() {
        return Ok(());
    }
    let size = blob.size.min(MAX_LAYER);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    let fetched = client.blob(repository, &blob.digest, size, &mut file);
    Ok(fetched.await?)
}
