//! English stems as a filter of tantivy: its own is behind a feature that would build it anew.

use rust_stemmers::{Algorithm, Stemmer};
use tantivy::tokenizer::{Token, TokenFilter, TokenStream, Tokenizer};

/// tantivy's stemmer is a feature that is off here; this is the same algorithm.
#[derive(Clone)]
pub(crate) struct Stems;

impl TokenFilter for Stems {
    type Tokenizer<T: Tokenizer> = StemTokenizer<T>;

    fn transform<T: Tokenizer>(self, tokenizer: T) -> StemTokenizer<T> {
        StemTokenizer(tokenizer)
    }
}

#[derive(Clone)]
pub(crate) struct StemTokenizer<T>(T);

impl<T: Tokenizer> Tokenizer for StemTokenizer<T> {
    type TokenStream<'a> = StemStream<T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        StemStream(
            self.0.token_stream(text),
            Stemmer::create(Algorithm::English),
        )
    }
}

pub(crate) struct StemStream<T>(T, Stemmer);

impl<T: TokenStream> TokenStream for StemStream<T> {
    fn advance(&mut self) -> bool {
        let found = self.0.advance();
        if found {
            let token = self.0.token_mut();
            token.text = self.1.stem(&token.text).into_owned();
        }
        found
    }

    fn token(&self) -> &Token {
        self.0.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.0.token_mut()
    }
}
