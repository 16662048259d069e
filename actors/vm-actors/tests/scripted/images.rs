//! Images that are there, or not, as the test says.

use super::*;

pub(super) struct ScriptedImages(pub(super) Arc<Lab>);

impl Images for ScriptedImages {
    fn host(&self) -> HostView {
        let making = self.0.making.lock().clone();
        HostView {
            state: making.map_or(HostState::Ready, HostState::Preparing),
            kvm: vmm_api_core::Kvm {
                device: false,
                usable: false,
                reason: "scripted".to_owned(),
            },
        }
    }

    fn fetches(&self) -> Option<tokio::sync::watch::Receiver<u64>> {
        Some(self.0.fetches.subscribe())
    }

    fn list(&self) -> Result<Vec<vmm_api_core::ImageView>, ImageFailure> {
        let image = self.resolve(&ImageRef::default())?;
        Ok(vec![vmm_api_core::ImageView {
            digest: image.digest.clone(),
            names: vec!["default".to_owned()],
            bytes: 1 << 19,
            virtual_bytes: image.virtual_bytes,
            here: true,
        }])
    }

    fn resolve(&self, name: &ImageRef) -> Result<Arc<Image>, ImageFailure> {
        if let Some(progress) = self.0.making.lock().clone() {
            return Err(ImageFailure::Preparing { progress });
        }
        if let Some(progress) = self.0.fetching.lock().clone() {
            return Err(ImageFailure::Fetching {
                name: name.to_string(),
                progress,
            });
        }
        if name.as_str() != "default" {
            return Err(ImageFailure::Unknown {
                name: name.to_string(),
                known: "default".to_owned(),
            });
        }
        Ok(Arc::new(Image {
            digest: format!("{:0>64}", self.0.digest.lock()),
            disk: "/nonexistent".into(),
            format: DiskFormat::Raw,
            virtual_bytes: 1 << 20,
        }))
    }
}
