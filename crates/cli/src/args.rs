//! Arguments that commands share, and the colours of what they print.

use anstyle::{AnsiColor, Style};
use clap::builder::{PossibleValue, PossibleValuesParser, Styles, TypedValueParser};
use clap::error::ErrorKind;
use selvedge_protocol::dialect::{self, Dialect, Target};

use crate::error::Error;

/// Headings.
pub(crate) const HEADING: Style = AnsiColor::Yellow.on_default().bold();
/// Names of things.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What went wrong.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// What may be wrong.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// What is said beside the point.
pub(crate) const DIM: Style = Style::new().dimmed();

/// The colours of the help texts.
pub(crate) const STYLES: Styles = Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(NAME.bold())
    .placeholder(NAME)
    .error(ERROR)
    .valid(GOOD)
    .invalid(WARNING);

/// A dialect, by its name.
#[derive(Clone, Copy)]
pub(crate) struct Named(pub(crate) &'static Dialect);

/// Reads the name of a dialect; a wrong one is answered with the list and the nearest.
pub(crate) fn dialect() -> impl TypedValueParser<Value = Named> {
    let names = dialect::ALL.iter().map(|d| PossibleValue::new(d.id.name()));
    PossibleValuesParser::new(names).try_map(|name| {
        dialect::named(&name).map(Named).ok_or_else(|| clap::Error::new(ErrorKind::InvalidValue))
    })
}

/// The format of a command's own output.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The package whose versions a dialect is written for, as in `ai@6`.
pub(crate) fn package(dialect: &Dialect) -> &'static str {
    match dialect.id {
        dialect::Id::AiSdkStream | dialect::Id::AiSdkMessages => "ai",
        other => other.name(),
    }
}

/// Checks that a dialect can be written for a version.
pub(crate) fn check_target(target: &Target, to: &Dialect) -> Result<(), Error> {
    let within = |known: &str, asked: &str| {
        asked == known || asked.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'))
    };
    let package = package(to);
    let named = target.package == package || target.package == to.id.name();
    let asked = target.version.as_str();
    if named && to.versions.iter().any(|known| within(known, asked) || within(asked, known)) {
        return Ok(());
    }
    Err(Error::UnknownTarget {
        asked: format!("{}@{}", target.package, target.version),
        dialect: to.id.name(),
        known: to.versions.iter().map(|version| format!("`{package}@{version}`")).collect(),
    })
}
