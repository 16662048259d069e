//! The job: steps, checkpoints, and the space at the end.

use std::io::{Read, Write};

use rustc_hash::FxHashMap;

use super::batch::{Batch, gram_share};
use super::corpus::{Corpus, DocumentTokens, MAX_DOCUMENT_TERMS};
use super::error::LearningError;
use super::options::{BATCH, LearnOptions};
use super::pairs::TrainingPair;
use super::parameters::{Lexicon, ModelParameters, StepSize};
use super::terms::document_weight;
use crate::math::{Random, WIDTH, add_scaled, exp};
use crate::space::{ConceptSpace, WordTableBuilder};

/// First bytes of a saved state; changes with its form.
const MAGIC: &[u8; 8] = b"sglearn1";

/// Documents that are given their vectors in one step at the end.
const DOCUMENTS_A_STEP: usize = 2 * BATCH;

/// How far the job is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnProgress {
    /// Documents looked at, over all epochs.
    pub done: u64,
    /// Documents to look at, over all epochs.
    pub total: u64,
    /// Mean loss of the last step; falls from about 5.5.
    pub loss: f32,
}

impl LearnProgress {
    /// Whether there is nothing left to learn.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.done >= self.total
    }
}

/// Learns from a corpus, a little at each step. See the module.
#[derive(Debug)]
pub struct Learner {
    corpus: Corpus,
    options: LearnOptions,
    epochs: u32,
    lexicon: Lexicon,
    parameters: ModelParameters,
    batch: Batch,
    /// Order of the documents in the present epoch, where it is known.
    order: Option<(u32, Vec<u32>)>,
    /// Where the job stands: the epoch, the place in its order, the steps made.
    epoch: u32,
    place: u32,
    steps: u64,
    loss: f32,
    pair: TrainingPair,
    document: DocumentTokens,
}

impl Learner {
    /// Begins to learn from a corpus, knowing nothing.
    #[must_use]
    pub fn new(corpus: Corpus, options: LearnOptions) -> Self {
        let parameters = ModelParameters::draw(corpus.vocabulary().len(), options.seed);
        Self::with_parameters(corpus, options, parameters)
    }

    /// Begins with what an earlier job learnt ([`save_model`](Self::save_model)): for a corpus that
    /// changed a little. Words that are new begin as in [`new`](Self::new).
    ///
    /// # Errors
    /// The model cannot be read.
    pub fn from_model(
        corpus: Corpus,
        options: LearnOptions,
        model: &mut dyn Read,
    ) -> Result<Self, LearningError> {
        let mut learner = Self::new(corpus, options);
        let words = read_words(model)?;
        let mut known = ModelParameters::draw(words.len(), 0);
        known.load(false, model).map_err(LearningError::State)?;
        learner.parameters.grams.rows = std::mem::take(&mut known.grams.rows);
        let places: FxHashMap<&str, usize> = words
            .iter()
            .enumerate()
            .map(|(place, word)| (word.as_str(), place))
            .collect();
        for (place, term) in learner.corpus.vocabulary().iter().enumerate() {
            if let Some(&before) = places.get(term.text.as_str()) {
                learner.parameters.words.rows[place] = known.words.rows[before];
                learner.parameters.weights[0][place] = known.weights[0][before];
            }
        }
        Ok(learner)
    }

    /// Goes on from a checkpoint of the same corpus and options.
    ///
    /// # Errors
    /// The checkpoint cannot be read, or belongs to something else.
    pub fn resume(
        corpus: Corpus,
        options: LearnOptions,
        checkpoint: &mut dyn Read,
    ) -> Result<Self, LearningError> {
        let mut learner = Self::with_parameters(corpus, options, ModelParameters::default());
        let mut head = vec![0; learner.head().len()];
        checkpoint
            .read_exact(&mut head)
            .map_err(LearningError::State)?;
        let belongs = head.len() - STATE;
        if head[..belongs] != learner.head()[..belongs] {
            return Err(LearningError::UnusableState(
                "it belongs to another corpus or other settings",
            ));
        }
        let number = |at: usize| {
            let bytes = head[belongs + at..][..8].try_into();
            u64::from_le_bytes(bytes.expect("the state is 24 bytes"))
        };
        (learner.epoch, learner.place) = (number(0) as u32, number(8) as u32);
        learner.steps = number(16);
        learner.parameters = ModelParameters::zeroed(learner.corpus.vocabulary().len());
        learner
            .parameters
            .load(true, checkpoint)
            .map_err(LearningError::State)?;
        Ok(learner)
    }

    fn with_parameters(corpus: Corpus, options: LearnOptions, parameters: ModelParameters) -> Self {
        Self {
            epochs: options.epochs_for(corpus.len()),
            lexicon: Lexicon::new(&corpus),
            batch: Batch::new(corpus.vocabulary().len()),
            options,
            parameters,
            corpus,
            order: None,
            epoch: 0,
            place: 0,
            steps: 0,
            loss: 0.0,
            pair: TrainingPair::default(),
            document: DocumentTokens::default(),
        }
    }

    /// How far the job is.
    #[must_use]
    pub fn progress(&self) -> LearnProgress {
        let documents = self.corpus.len() as u64;
        LearnProgress {
            done: u64::from(self.epoch) * documents + u64::from(self.place),
            total: u64::from(self.epochs) * documents,
            loss: self.loss,
        }
    }

    /// Learns from one batch of 256 documents: some 20 ms of one core.
    ///
    /// # Errors
    /// The token file cannot be read.
    pub fn step(&mut self) -> Result<LearnProgress, LearningError> {
        while self.epoch < self.epochs && !self.batch.is_full() {
            if self.place as usize == self.corpus.len() {
                (self.epoch, self.place) = (self.epoch + 1, 0);
                break;
            }
            self.add_next()?;
        }
        if self.batch.len() > 1 {
            let progress = self.progress();
            let left = 1.0 - (progress.done as f64 / progress.total.max(1) as f64) as f32;
            let size = StepSize::new(self.options.rate * left.max(0.0), self.steps);
            self.loss = self.batch.train(&mut self.parameters, &self.lexicon, size);
            self.steps += 1;
        }
        self.batch.clear();
        Ok(self.progress())
    }

    /// Draws a pair from the next document of the epoch's order.
    fn add_next(&mut self) -> Result<(), LearningError> {
        if self
            .order
            .as_ref()
            .is_none_or(|(epoch, _)| *epoch != self.epoch)
        {
            let mut random = Random::new([self.options.seed, 3, self.epoch.into()]);
            let order = random.permutation(self.corpus.len() as u32);
            self.order = Some((self.epoch, order));
        }
        let (_, order) = self.order.as_ref().expect("made above");
        let number = order[self.place as usize];
        self.place += 1;
        self.corpus.read(number as usize, &mut self.document)?;
        let look = u64::from(self.epoch) << 32 | u64::from(number);
        let mut random = Random::new([self.options.seed, 4, look]);
        if self.pair.draw(&self.document, &mut random) {
            self.batch.add(&self.pair);
        }
        Ok(())
    }

    /// What a checkpoint begins with: whose it is, and the state.
    fn head(&self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&self.corpus.fingerprint());
        head.extend_from_slice(&self.options.seed.to_le_bytes());
        head.extend_from_slice(&self.epochs.to_le_bytes());
        head.extend_from_slice(&self.options.rate.to_le_bytes());
        for number in [self.epoch.into(), self.place.into(), self.steps] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        head
    }

    /// Writes all that is needed to go on after a restart: about 2.5 kB a word of the vocabulary.
    ///
    /// # Errors
    /// The output refuses.
    pub fn checkpoint(&mut self, output: &mut dyn Write) -> Result<(), LearningError> {
        let head = self.head();
        output
            .write_all(&head)
            .and_then(|()| self.parameters.save(true, output))
            .map_err(LearningError::State)
    }

    /// Writes what was learnt, for [`from_model`](Self::from_model).
    ///
    /// # Errors
    /// The output refuses.
    pub fn save_model(&mut self, output: &mut dyn Write) -> Result<(), LearningError> {
        let words: Vec<&str> = self
            .corpus
            .vocabulary()
            .iter()
            .map(|term| term.text.as_str())
            .collect();
        let words = words.join("\n");
        output
            .write_all(MAGIC)
            .and_then(|()| output.write_all(&(words.len() as u64).to_le_bytes()))
            .and_then(|()| output.write_all(words.as_bytes()))
            .and_then(|()| self.parameters.save(false, output))
            .map_err(LearningError::State)
    }

    /// Ends the job: the space of the words, in which the documents get their vectors next.
    #[must_use]
    pub fn finish(self) -> DocumentPlacement {
        let mut builder =
            WordTableBuilder::new(self.lexicon.rarity.iter().copied().fold(0.0, f32::max));
        for (word, term) in self.corpus.vocabulary().iter().enumerate() {
            let grams = self.lexicon.grams(word);
            let mut vector = [0.0; WIDTH];
            for &gram in grams {
                let row = &self.parameters.grams.rows[usize::from(gram)];
                add_scaled(&mut vector, gram_share(grams.len()), row);
            }
            add_scaled(&mut vector, 1.0, &self.parameters.words.rows[word]);
            let weight = self.lexicon.rarity[word] * exp(self.parameters.weights[0][word]);
            builder.add_word(&term.text, weight, &vector);
        }
        for row in &self.parameters.grams.rows {
            builder.add_gram(row);
        }
        DocumentPlacement {
            space: ConceptSpace::new(builder.finish(), self.corpus.len()),
            places: Vec::new(),
            corpus: self.corpus,
            next: 0,
            open: OpenDocument::default(),
            document: self.document,
        }
    }
}

/// Bytes of the state in a checkpoint's head.
const STATE: usize = 24;

/// Largest list of words a model may begin with, in bytes.
const MAX_WORDS_BYTES: u64 = 16 << 20;

fn read_words(model: &mut dyn Read) -> Result<Vec<String>, LearningError> {
    let mut head = [0; 16];
    model.read_exact(&mut head).map_err(LearningError::State)?;
    let length = u64::from_le_bytes(head[8..].try_into().expect("8 of 16 bytes"));
    if head[..8] != *MAGIC || length > MAX_WORDS_BYTES {
        return Err(LearningError::UnusableState("it is no model"));
    }
    let mut words = vec![0; length as usize];
    model.read_exact(&mut words).map_err(LearningError::State)?;
    let words = String::from_utf8(words)
        .map_err(|_| LearningError::UnusableState("its words are not text"))?;
    Ok(words.lines().map(str::to_owned).collect())
}

/// The last part of the job: every document gets its vector from its words.
#[derive(Debug)]
pub struct DocumentPlacement {
    space: ConceptSpace,
    /// Number in the space of each word of the corpus's vocabulary.
    places: Vec<u32>,
    corpus: Corpus,
    next: usize,
    /// The document whose parts are being read.
    open: OpenDocument,
    document: DocumentTokens,
}

/// The words of a document, gathered from the parts that follow each other in the corpus.
#[derive(Debug, Default)]
struct OpenDocument {
    key: String,
    counts: FxHashMap<u16, u32>,
    tokens: usize,
}

impl OpenDocument {
    /// Adds a part; the title counts once.
    fn add(&mut self, part: &DocumentTokens) {
        let is_first = self.tokens == 0;
        let tokens = &part.tokens[if is_first { 0 } else { part.title }..];
        let left = MAX_DOCUMENT_TERMS.saturating_sub(self.tokens);
        for &token in tokens.iter().take(left) {
            *self.counts.entry(token).or_default() += 1;
        }
        self.tokens += tokens.len();
    }
}

impl DocumentPlacement {
    /// Reads the next 512 documents, or parts of them, and gives documents their vectors; says
    /// whether any are left.
    ///
    /// # Errors
    /// The token file cannot be read.
    pub fn step(&mut self) -> Result<bool, LearningError> {
        if self.places.is_empty() {
            let words = self.corpus.vocabulary().iter();
            self.places = words
                .map(|term| self.space.words().find(&term.text).expect("it was added"))
                .collect();
        }
        let end = self.corpus.len().min(self.next + DOCUMENTS_A_STEP);
        for number in self.next..end {
            self.corpus.read(number, &mut self.document)?;
            if number == 0 || self.document.key != self.open.key {
                self.place_document();
                self.open.key.clone_from(&self.document.key);
            }
            self.open.add(&self.document);
        }
        self.next = end;
        let is_over = end == self.corpus.len();
        if is_over {
            self.place_document();
        }
        Ok(!is_over)
    }

    /// Gives the document that was read last its vector.
    fn place_document(&mut self) {
        let open = std::mem::take(&mut self.open);
        // Before the first document, and behind the last.
        if open.counts.is_empty() && open.key.is_empty() {
            return;
        }
        let bag = open
            .counts
            .iter()
            .map(|(token, count)| (self.places[usize::from(*token)], document_weight(*count)));
        let vector = self.space.words().vector(bag.collect());
        self.space.set_vector(&open.key, vector.as_ref());
    }

    /// Gives the remaining documents their vectors; the space is ready.
    ///
    /// # Errors
    /// The token file cannot be read.
    pub fn finish(mut self) -> Result<ConceptSpace, LearningError> {
        while self.step()? {}
        self.space.clear_changes();
        Ok(self.space)
    }
}
