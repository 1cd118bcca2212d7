//! Statements written for both databases, in PostgreSQL's words.
//!
//! What differs in more than spelling is not written for both. Spelled differently are parameters,
//! hints which index to use, joins in a given order, and where a thread's rows of the journal are.

/// Where rows are is a table of its own in SQLite. Here the journal itself is in that order.
const PLACED: &str = "position p JOIN journal j ON j.row = p.row";
const JOURNAL: &str = "journal p CROSS JOIN LATERAL (SELECT p.row, p.first, p.last, p.at, p.key, \
     p.digest, p.body) j";

/// A statement in PostgreSQL's words.
pub(super) fn translate(sql: &str) -> String {
    let joined = sql.split(PLACED).map(plain_joins).collect::<Vec<_>>().join(JOURNAL);
    parameters(&joined)
}

/// Takes out hints which index to use and in which order to join: the planner knows better.
fn plain_joins(sql: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut words = sql.split(' ').filter(|word| !word.is_empty()).peekable();
    // The place of a `CROSS` that may turn out to stand before a join with a condition.
    let mut cross: Option<usize> = None;
    while let Some(word) = words.next() {
        match word {
            "INDEXED" if words.peek() == Some(&"BY") => {
                words.next();
                words.next();
                continue;
            }
            "CROSS" => cross = Some(out.len()),
            // Between the two are `JOIN`, a table and its name.
            "ON" if cross.is_some_and(|cross| out.len() - cross <= 4) => {
                if let Some(place) = cross.take().and_then(|cross| out.get_mut(cross)) {
                    *place = "";
                }
            }
            _ => {}
        }
        out.push(word);
    }
    let inner = out.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    // Around a join that was cut out.
    let space = |is_there: bool| if is_there { " " } else { "" };
    format!("{}{inner}{}", space(sql.starts_with(' ')), space(sql.ends_with(' ')))
}

/// `?1` is `$1`, and each `?` is the next one.
fn parameters(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let mut next = 1;
    let mut chars = sql.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = chars.next() {
        is_quoted ^= c == '\'';
        if c != '?' || is_quoted {
            out.push(c);
            continue;
        }
        out.push('$');
        if !chars.peek().is_some_and(char::is_ascii_digit) {
            out.push_str(&next.to_string());
            next += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn parameters_are_counted_or_numbered() {
        assert_eq!(translate("a = ?2 AND b = ?1"), "a = $2 AND b = $1");
        assert_eq!(translate("(?, ?) LIMIT ?"), "($1, $2) LIMIT $3");
        assert_eq!(translate("x = 'why?' AND y = ?1"), "x = 'why?' AND y = $1");
    }

    #[test]
    fn hints_go_and_joins_stay() {
        assert_eq!(
            translate("FROM a INDEXED BY a_by_b CROSS JOIN t ON t.num = a.thread WHERE 1 = 1"),
            "FROM a JOIN t ON t.num = a.thread WHERE 1 = 1"
        );
        assert_eq!(
            translate("FROM d x CROSS JOIN s y CROSS JOIN thread t ON t.num = y.thread"),
            "FROM d x CROSS JOIN s y JOIN thread t ON t.num = y.thread"
        );
        assert_eq!(
            translate("SELECT j.first FROM position p JOIN journal j ON j.row = p.row WHERE 1"),
            "SELECT j.first FROM journal p CROSS JOIN LATERAL (SELECT p.row, p.first, p.last, \
             p.at, p.key, p.digest, p.body) j WHERE 1"
        );
    }
}
