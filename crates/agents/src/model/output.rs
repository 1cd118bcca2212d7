//! What a model has said and nobody has taken yet.
//!
//! Invariant: one thought is open at a time, and it ends before anything else is said; the pieces
//! of a call carry its own id; nothing follows the end. An answer has a greatest size.

use std::collections::VecDeque;

use super::{Done, Failure, Provider, Said};

/// Bytes of an answer, at most.
const LONGEST_ANSWER: usize = 16 << 20;
/// Calls of an answer, at most.
const MOST_CALLS: usize = 256;

#[derive(Debug)]
pub(super) struct Output {
    ready: VecDeque<Said>,
    author: &'static str,
    now: Now,
    calls: Vec<Call>,
    size: usize,
}

/// What is being said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    Nothing,
    Text,
    Thought,
    Over,
}

#[derive(Debug)]
struct Call {
    /// Where the provider counts it.
    slot: u64,
    /// The id that the provider gave.
    given: Option<String>,
    id: String,
    name: String,
    arguments: String,
    open: bool,
}

impl Output {
    pub(super) fn new(provider: Provider) -> Self {
        Self {
            ready: VecDeque::new(),
            author: provider.author(),
            now: Now::Nothing,
            calls: Vec::new(),
            size: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<Said> {
        self.ready.pop_front()
    }

    pub(super) fn is_over(&self) -> bool {
        self.now == Now::Over
    }

    /// Whether text is being said, which what comes now would go on with.
    pub(super) fn is_text(&self) -> bool {
        self.now == Now::Text
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.close_thought();
        self.now = Now::Text;
        self.say(text.len(), Said::Text(text.to_owned()))
    }

    pub(super) fn thought(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.now = Now::Thought;
        self.say(text.len(), Said::Thought(text.to_owned()))
    }

    /// The thought that is open ends here, with its signature; if none is open, there was one
    /// without text.
    pub(super) fn end_thought(&mut self, signature: Option<String>) -> Result<(), Failure> {
        if self.now != Now::Thought && signature.is_none() {
            return Ok(());
        }
        self.end_thought_as(self.author, signature)
    }

    /// The same, of a provider's thought that goes back in a way of its own.
    pub(super) fn end_thought_as(
        &mut self,
        provider: &'static str,
        signature: Option<String>,
    ) -> Result<(), Failure> {
        self.now = Now::Nothing;
        let size = signature.as_ref().map_or(0, String::len);
        self.say(size, Said::ThoughtEnd { signature, provider })
    }

    /// A call begins. An id that the provider left out or gave twice is made here.
    pub(super) fn begin_call(
        &mut self,
        slot: u64,
        given: Option<&str>,
        name: &str,
    ) -> Result<(), Failure> {
        if name.is_empty() {
            return Err(Failure::nonsense("the model calls a tool without a name"));
        }
        if self.calls.len() == MOST_CALLS {
            return Err(Failure::nonsense(format!("the model calls more than {MOST_CALLS} tools")));
        }
        self.close_thought();
        self.now = Now::Nothing;
        let given = given.filter(|id| !id.is_empty()).map(str::to_owned);
        let fresh = given.clone().filter(|id| self.calls.iter().all(|call| call.id != *id));
        let id = fresh.unwrap_or_else(|| format!("call_{}", uuid::Uuid::now_v7().simple()));
        self.say(id.len() + name.len(), Said::CallBegun { id: id.clone(), name: name.to_owned() })?;
        let (name, arguments) = (name.to_owned(), String::new());
        self.calls.push(Call { slot, given, id, name, arguments, open: true });
        Ok(())
    }

    /// Whether the call at a place is still being written, and the id that the provider gave it.
    pub(super) fn open_call(&self, slot: u64) -> Option<Option<&str>> {
        let call = self.calls.iter().rev().find(|call| call.open && call.slot == slot)?;
        Some(call.given.as_deref())
    }

    pub(super) fn call_piece(&mut self, slot: u64, delta: &str) -> Result<(), Failure> {
        let Some(call) = self.calls.iter_mut().rev().find(|call| call.open && call.slot == slot)
        else {
            return Err(Failure::nonsense("the stream has arguments of a call that did not begin"));
        };
        if delta.is_empty() {
            return Ok(());
        }
        call.arguments.push_str(delta);
        let said = Said::CallPiece { id: call.id.clone(), delta: delta.to_owned() };
        self.say(delta.len(), said)
    }

    /// A call is complete. Where the provider tells the arguments once more, those count.
    pub(super) fn end_call(&mut self, slot: u64, whole: Option<&str>) -> Result<(), Failure> {
        let at = self.calls.iter().rposition(|call| call.open && call.slot == slot);
        let Some(at) = at else { return Ok(()) };
        let silent = self.calls.get(at).is_some_and(|call| call.arguments.is_empty());
        if let Some(whole) = whole.filter(|_| silent) {
            self.call_piece(slot, whole)?;
        }
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        call.open = false;
        let mut arguments = std::mem::take(&mut call.arguments);
        if let Some(whole) = whole.filter(|whole| !whole.is_empty()) {
            arguments = whole.to_owned();
        }
        // A tool without arguments, as some say it.
        if arguments.trim().is_empty() {
            arguments = "{}".to_owned();
        }
        let said = Said::Call { id: call.id.clone(), name: call.name.clone(), arguments };
        self.say(0, said)
    }

    /// The answer is complete.
    pub(super) fn end(&mut self, done: Done) -> Result<(), Failure> {
        self.close_thought();
        for slot in self.calls.iter().filter(|c| c.open).map(|c| c.slot).collect::<Vec<_>>() {
            self.end_call(slot, None)?;
        }
        self.ready.push_back(Said::Done(done));
        self.now = Now::Over;
        Ok(())
    }

    /// Nothing more comes.
    pub(super) fn close(&mut self) {
        self.now = Now::Over;
    }

    fn close_thought(&mut self) {
        if self.now == Now::Thought {
            self.ready.push_back(Said::ThoughtEnd { signature: None, provider: self.author });
            self.now = Now::Nothing;
        }
    }

    fn say(&mut self, size: usize, said: Said) -> Result<(), Failure> {
        self.grow(size)?;
        self.ready.push_back(said);
        Ok(())
    }

    /// Counts bytes of the answer, also those that are only kept for later.
    pub(super) fn grow(&mut self, size: usize) -> Result<(), Failure> {
        self.size = self.size.saturating_add(size);
        if self.size > LONGEST_ANSWER {
            let message = format!("the answer is longer than {LONGEST_ANSWER} bytes");
            return Err(Failure::nonsense(message));
        }
        Ok(())
    }
}
