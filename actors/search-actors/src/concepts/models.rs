//! What embeds a source's documents: a model in memory, or one of a server.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use search_graph_engine::embedding::{
    EmbeddedBy, Embedding, EmbeddingModel, TextDigest, UNKNOWN_DIGEST,
};
use supervision::ChildRef;

use crate::embedding::{EmbedTexts, EmbeddingEndpoint, EmbeddingService, TEXTS_TIMEOUT};
use crate::remote::{Blame, EmbeddingFailure};

/// While it waits a thread looks this often whether it should end.
pub(super) const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Texts that a server is given at once.
const BATCH: usize = 8;
/// A text that a server refuses is cut to so many bytes, and then to so many.
const SHORTER: [usize; 2] = [400, 100];
/// A word that every embedding model can embed.
const PROBE: &str = "water";

/// The models in memory, shared by all sources; each is read once.
#[derive(Debug, Default)]
pub(crate) struct LoadedModels(Mutex<HashMap<PathBuf, Arc<EmbeddingModel>>>);

impl LoadedModels {
    pub(super) fn get(&self, folder: &PathBuf) -> Result<Arc<EmbeddingModel>, String> {
        let mut models = self.0.lock();
        if let Some(model) = models.get(folder) {
            return Ok(Arc::clone(model));
        }
        let opened = EmbeddingModel::open(folder);
        let model = Arc::new(opened.map_err(|error| error.to_string())?);
        models.insert(folder.clone(), Arc::clone(&model));
        Ok(model)
    }
}

/// A text that a model embeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelText {
    pub(super) text: String,
    /// Whether it is one passage of several.
    pub(super) is_passage: bool,
}

impl ModelText {
    /// The same text is read to another length as a passage.
    pub(super) fn digest(&self) -> TextDigest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[u8::from(self.is_passage)]);
        hasher.update(self.text.as_bytes());
        let mut digest = UNKNOWN_DIGEST;
        hasher.finalize_xof().fill(&mut digest);
        digest
    }
}

/// A model that makes embeddings.
#[derive(Clone)]
pub(super) enum ConceptModel {
    Folder(Arc<EmbeddingModel>),
    Server(ServerModel),
}

impl ConceptModel {
    pub(super) fn embedded_by(&self) -> EmbeddedBy {
        match self {
            Self::Folder(model) => EmbeddedBy::Model(Arc::clone(model)),
            Self::Server(server) => EmbeddedBy::Server(server.endpoint.id()),
        }
    }

    /// Texts that are given at once.
    pub(super) fn batch(&self) -> usize {
        match self {
            Self::Folder(_) => 1,
            Self::Server(_) => BATCH,
        }
    }

    /// Bytes of a text that are given to it. One in memory reads 128 tokens, of passages 256; of
    /// servers some refuse more than 512.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Self::Folder(_) => 4_096,
            Self::Server(_) => 1_500,
        }
    }

    /// The embeddings of the texts in their order; `None` for a text that the server refuses,
    /// however short. All have one width.
    pub(super) fn embed(
        &self,
        texts: &[ModelText],
        cancel: &AtomicBool,
    ) -> Result<Vec<Option<Embedding>>, String> {
        match self {
            Self::Folder(model) => {
                let embed = |one: &ModelText| match one.is_passage {
                    true => model.embed_passage(&one.text),
                    false => model.embed(&one.text),
                };
                Ok(texts.iter().map(embed).map(Some).collect())
            }
            Self::Server(server) => {
                let texts: Vec<String> = texts.iter().map(|one| one.text.clone()).collect();
                server.embed(&texts, cancel)
            }
        }
    }

    /// The width of the vectors that it makes now.
    pub(super) fn width(&self, cancel: &AtomicBool) -> Result<usize, String> {
        match self {
            Self::Folder(model) => Ok(model.dimensions()),
            Self::Server(server) => server
                .ask(&[PROBE.to_owned()], cancel)
                .map(|vectors| vectors.first().map_or(0, Vec::len))
                .map_err(|failure| failure.reason),
        }
    }
}

/// A model of a server.
#[derive(Clone)]
pub(super) struct ServerModel {
    pub(super) endpoint: EmbeddingEndpoint,
    pub(super) service: ChildRef<EmbeddingService>,
}

impl ServerModel {
    fn embed(
        &self,
        texts: &[String],
        cancel: &AtomicBool,
    ) -> Result<Vec<Option<Embedding>>, String> {
        let failure = match self.ask(texts, cancel) {
            Ok(vectors) => {
                let made = vectors.iter().map(|vector| Some(Embedding::new(vector)));
                return Ok(made.collect());
            }
            Err(failure) => failure,
        };
        if failure.blame == Blame::Server || cancel.load(Ordering::Relaxed) {
            return Err(failure.reason);
        }
        // One text may spoil the batch, or the batch may be too much.
        if texts.len() > 1 {
            let (first, second) = texts.split_at(texts.len() / 2);
            let mut made = self.embed(first, cancel)?;
            made.extend(self.embed(second, cancel)?);
            return Ok(made);
        }
        let Some(text) = texts.first() else {
            return Ok(Vec::new());
        };
        for bytes in SHORTER {
            let short = text[..text.floor_char_boundary(bytes)].to_owned();
            if short.len() < text.len()
                && let Ok(vectors) = self.ask(&[short], cancel)
            {
                return Ok(vec![vectors.first().map(|vector| Embedding::new(vector))]);
            }
        }
        // The text is to blame where others can be embedded.
        match self.ask(&[PROBE.to_owned()], cancel) {
            Ok(_) => Ok(vec![None]),
            Err(_) => Err(failure.reason),
        }
    }

    /// One question; waits for the answer, or for the thread to be told to end.
    fn ask(
        &self,
        texts: &[String],
        cancel: &AtomicBool,
    ) -> Result<Vec<Vec<f32>>, EmbeddingFailure> {
        let question = EmbedTexts {
            endpoint: self.endpoint.clone(),
            texts: texts.to_vec(),
        };
        let ended = async {
            while !cancel.load(Ordering::Relaxed) {
                actix_rt::time::sleep(CANCEL_POLL_INTERVAL).await;
            }
        };
        let runtime = actix_rt::Runtime::new()
            .map_err(|error| EmbeddingFailure::from_server(error.to_string()))?;
        runtime.block_on(async {
            tokio::select! {
                answer = self.service.ask_within(question, TEXTS_TIMEOUT * 2) => {
                    answer.unwrap_or_else(|error| Err(EmbeddingFailure::from_server(error.to_string())))
                }
                () = ended => Err(EmbeddingFailure::from_server("the server ends")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_digests_tell_texts_and_how_far_they_are_read() {
        let digest = |text: &str, is_passage| {
            let text = text.to_owned();
            ModelText { text, is_passage }.digest()
        };
        let [a, b, passage] = [digest("a", false), digest("b", false), digest("a", true)];
        assert!(a != b && a != passage && a == digest("a", false));
    }
}
