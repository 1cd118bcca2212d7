//! What asking a model costs, and how much it takes at once.

use schemars::JsonSchema;
use selvedge_protocol::journal::fold::Tokens;
use serde::Deserialize;

/// What a million tokens cost, in any one currency.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// That go in.
    #[schemars(range(min = 0.0))]
    pub input: f64,
    /// That come out.
    #[schemars(range(min = 0.0))]
    pub output: f64,
    /// That go in and were cached; as all that go in, if it is not said.
    #[schemars(range(min = 0.0))]
    pub cached: Option<f64>,
}

impl Price {
    /// What so many tokens cost. Those that were cached are among those that went in.
    pub fn of(&self, tokens: &Tokens) -> f64 {
        let fresh = tokens.input.saturating_sub(tokens.cached) as f64;
        let cached = tokens.cached.min(tokens.input) as f64;
        let read = fresh * self.input + cached * self.cached.unwrap_or(self.input);
        (read + tokens.output as f64 * self.output) / 1e6
    }
}

/// The terms on which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Terms {
    /// What tokens cost, where it is known.
    pub price: Option<Price>,
    /// Tokens of a conversation with its answer, where it is known.
    pub context_tokens: Option<u64>,
    /// Tokens of an answer, at most.
    pub max_tokens: Option<u32>,
}

/// Tokens that are kept free for an answer of unknown length, if the conversation may be so long.
const ANSWER: u64 = 4096;

impl Terms {
    /// What a model call cost: what its provider says, or what follows from the price.
    pub fn cost(&self, tokens: &Tokens) -> f64 {
        match self.price {
            Some(price) if tokens.cost == 0.0 => price.of(tokens),
            _ => tokens.cost,
        }
    }

    /// Tokens that may go in, where it is known.
    pub fn room(&self) -> Option<u64> {
        let all = self.context_tokens?;
        let answer = self.max_tokens.map_or(ANSWER.min(all / 4), u64::from);
        Some(all.saturating_sub(answer))
    }

    /// Whether anything is known that a request must be measured for.
    pub(crate) fn is_known(&self) -> bool {
        self.price.is_some() || self.context_tokens.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, cached: u64, output: u64) -> Tokens {
        Tokens { input, cached, output, calls: 1, ..Tokens::default() }
    }

    #[test]
    fn cached_tokens_have_a_price_of_their_own_and_what_a_provider_says_counts() {
        let price = Price { input: 3.0, output: 15.0, cached: Some(0.3) };
        assert_eq!(price.of(&tokens(1_000_000, 600_000, 100_000)), 1.2 + 0.18 + 1.5);
        let plain = Price { cached: None, ..price };
        assert_eq!(plain.of(&tokens(1_000_000, 600_000, 0)), 3.0);
        let terms = Terms { price: Some(price), ..Terms::default() };
        assert_eq!(terms.cost(&Tokens { cost: 0.5, ..tokens(10, 0, 10) }), 0.5);
        assert_eq!(Terms::default().cost(&tokens(10, 0, 10)), 0.0);
    }

    #[test]
    fn room_is_what_an_answer_leaves() {
        let terms =
            |context_tokens, max_tokens| Terms { context_tokens, max_tokens, ..Terms::default() };
        assert_eq!(terms(Some(100_000), Some(8_000)).room(), Some(92_000));
        assert_eq!(terms(Some(100_000), None).room(), Some(95_904));
        assert_eq!(terms(Some(1000), None).room(), Some(750));
        assert_eq!(terms(Some(1000), Some(2000)).room(), Some(0));
        assert_eq!(terms(None, Some(2000)).room(), None);
    }
}
