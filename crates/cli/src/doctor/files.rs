//! How many files may be open.

use std::fs;

use super::Health;

/// Half of the connections that a server takes by default.
const FEW: u64 = 8192;

/// The limit of a server that is started from here.
pub(super) fn look() -> Health {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3));
    match soft.map(|soft| (soft, soft.parse::<u64>())) {
        None => Health::Good("the limit is not known here".to_owned()),
        Some((_, Ok(soft))) if soft < FEW => Health::Doubtful(
            format!("{soft}, for a server started from here"),
            "every connection is one: raise it with `ulimit -n 65536` or `LimitNOFILE=`".to_owned(),
        ),
        Some((soft, _)) => Health::Good(format!("{soft}, for a server started from here")),
    }
}
