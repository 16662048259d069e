//! tantivy's English analysis, put together from its own parts and the stemmer it uses itself.

use rust_stemmers::{Algorithm, Stemmer};
use tantivy::tokenizer::{
    LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, Token, TokenFilter, TokenStream,
    Tokenizer,
};

/// Name it is registered under.
pub(crate) const NAME: &str = "stems";

/// Words, lower case, English Snowball stems.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(Stems)
        .build()
}

#[derive(Clone)]
struct Stems;

impl TokenFilter for Stems {
    type Tokenizer<T: Tokenizer> = StemsOf<T>;

    fn transform<T: Tokenizer>(self, tokenizer: T) -> Self::Tokenizer<T> {
        StemsOf(tokenizer)
    }
}

#[derive(Clone)]
struct StemsOf<T>(T);

impl<T: Tokenizer> Tokenizer for StemsOf<T> {
    type TokenStream<'a> = StemStream<T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        StemStream {
            stream: self.0.token_stream(text),
            stemmer: Stemmer::create(Algorithm::English),
        }
    }
}

struct StemStream<S> {
    stream: S,
    stemmer: Stemmer,
}

impl<S: TokenStream> TokenStream for StemStream<S> {
    fn advance(&mut self) -> bool {
        let more = self.stream.advance();
        if more {
            let stem = self.stemmer.stem(&self.stream.token().text).into_owned();
            self.stream.token_mut().text = stem;
        }
        more
    }

    fn token(&self) -> &Token {
        self.stream.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.stream.token_mut()
    }
}
