//! A TOML text as JSON values, and where each of them stands in the text.
//!
//! Invariant: reading takes time and memory in proportion to the text, and no text overflows a
//! stack, however deep it is nested.

use std::collections::HashMap;
use std::ops::Range;
use std::thread;

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

/// Bytes of a configuration.
pub(super) const LONGEST: usize = 256 << 10;
/// Levels that values may be nested.
const DEEPEST: usize = 64;
/// The parser takes 80 levels of brackets with 80 dots before each of them; they fit into this.
const STACK: usize = 64 << 20;
/// Mistakes in the syntax that are told; one makes many.
const MISTAKES: usize = 10;

/// What a text says.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// All of it.
    pub(super) value: Value,
    places: HashMap<String, Place>,
}

/// Where a value stands.
#[derive(Debug, Clone)]
struct Place {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

/// Something that is wrong with a text, and where.
pub(super) type Mistake = (Option<Range<usize>>, String);

impl Source {
    /// Reads a text; what could be read, and what is wrong with it.
    pub(super) fn read(text: &str) -> (Self, Vec<Mistake>) {
        if text.len() > LONGEST {
            let message = format!("the file is longer than {} KiB", LONGEST >> 10);
            return (Self::default(), vec![(None, message)]);
        }
        thread::scope(|scope| {
            let reader = thread::Builder::new().stack_size(STACK);
            let read = reader.spawn_scoped(scope, || parse(text)).ok();
            // The parser does not panic; if it did, or if there is no thread, the file is refused.
            read.and_then(|read| read.join().ok()).unwrap_or_else(|| {
                (Self::default(), vec![(None, "the file cannot be read".to_owned())])
            })
        })
    }

    /// Where the value at a pointer stands.
    pub(super) fn value_at(&self, pointer: &str) -> Option<Range<usize>> {
        self.nearest(pointer).map(|place| place.value.clone())
    }

    /// Where the name of the value at a pointer stands; the value, where it has none.
    pub(super) fn key_at(&self, pointer: &str) -> Option<Range<usize>> {
        let place = self.nearest(pointer)?;
        Some(place.key.clone().unwrap_or_else(|| place.value.clone()))
    }

    /// Every text, with its pointer.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.places
            .keys()
            .filter_map(|pointer| Some((pointer.as_str(), self.value.pointer(pointer)?.as_str()?)))
    }

    /// The place of a value, or of the nearest that it would be in.
    fn nearest(&self, pointer: &str) -> Option<&Place> {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.places.get(pointer) {
                return Some(place);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// A pointer to a member of what another points to.
pub(super) fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn parse(text: &str) -> (Source, Vec<Mistake>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mistakes = errors.iter().take(MISTAKES);
    let mistakes = mistakes.map(|error| (error.span(), error.message().to_owned())).collect();
    let mut reading = Reading { source: Source::default(), mistakes };
    let value = reading.table(table.get_ref(), "", 0);
    reading.source.value = Value::Object(value);
    (reading.source, reading.mistakes)
}

struct Reading {
    source: Source,
    mistakes: Vec<Mistake>,
}

impl Reading {
    fn table(&mut self, table: &DeTable<'_>, pointer: &str, depth: usize) -> Map<String, Value> {
        let mut out = Map::new();
        for (key, value) in table {
            let name = key.get_ref().to_string();
            let pointer = join(pointer, &name);
            let place = Place { key: Some(key.span()), value: value.span() };
            let value = self.value(value.get_ref(), &pointer, place, depth + 1);
            out.insert(name, value);
        }
        out
    }

    fn value(&mut self, value: &DeValue<'_>, pointer: &str, place: Place, depth: usize) -> Value {
        let span = place.value.clone();
        self.source.places.insert(pointer.to_owned(), place);
        if depth > DEEPEST {
            return self.mistake(span, format!("values are nested deeper than {DEEPEST} levels"));
        }
        match value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(yes) => Value::Bool(*yes),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => number.into(),
                    Err(_) => self.mistake(span, "the number is too large".to_owned()),
                }
            }
            DeValue::Float(number) => {
                let number = number.as_str().parse().ok().and_then(Number::from_f64);
                match number {
                    Some(number) => Value::Number(number),
                    None => self.mistake(span, "the number must be finite".to_owned()),
                }
            }
            DeValue::Datetime(_) => {
                self.mistake(span, "a date has no place here; a text has quotes".to_owned())
            }
            DeValue::Array(items) => {
                let mut out = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    let place = Place { key: None, value: item.span() };
                    let pointer = format!("{pointer}/{i}");
                    out.push(self.value(item.get_ref(), &pointer, place, depth + 1));
                }
                Value::Array(out)
            }
            DeValue::Table(table) => Value::Object(self.table(table, pointer, depth)),
        }
    }

    fn mistake(&mut self, span: Range<usize>, message: String) -> Value {
        if self.mistakes.len() < MISTAKES {
            self.mistakes.push((Some(span), message));
        }
        Value::Null
    }
}
