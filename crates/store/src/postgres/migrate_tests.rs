//! Steps only add: code that does not know one goes on beside it.

use super::{RELEASE, STEPS, named, release};

/// Steps with a block of code that someone has read: it changes nothing that older code sees.
const READ: &[&str] = &["append"];

/// Statements of a script, without comments and bodies, in single spaces.
fn statements(sql: &str) -> Vec<String> {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join("\n");
    // Every other stretch is the body of a function or a block.
    let text: String = text.split("$$").step_by(2).collect();
    let statements =
        text.split(';').map(|one| one.split_whitespace().collect::<Vec<_>>().join(" "));
    statements.filter(|one| !one.is_empty()).collect()
}

/// Why an older release could not go on beside a statement.
fn breaks(statement: &str, made: &[String]) -> Option<&'static str> {
    let words: Vec<&str> = statement.split([' ', '(']).collect();
    let is_new = |table: &str| made.iter().any(|made| made == table);
    match words.as_slice() {
        ["CREATE", "TABLE" | "SEQUENCE" | "VIEW" | "AGGREGATE" | "FUNCTION" | "INDEX", ..] => None,
        // Older code may write what the newer one forbids.
        ["CREATE", "UNIQUE", "INDEX", _, "ON", table, ..] if is_new(table) => None,
        ["CREATE", "UNIQUE", ..] => Some("forbids what older code may write"),
        ["ALTER", "TABLE", table, "ADD", "COLUMN", ..] => {
            let must_be_given = statement.contains("NOT NULL") && !statement.contains("DEFAULT");
            (must_be_given && !is_new(table)).then_some("older code does not write the column")
        }
        _ => Some("does more than add"),
    }
}

/// Tables that a script makes.
fn made(statements: &[String]) -> Vec<String> {
    let made = statements.iter().filter_map(|one| one.strip_prefix("CREATE TABLE "));
    made.filter_map(|rest| Some(rest.split([' ', '(']).next()?.to_owned())).collect()
}

#[test]
fn every_step_only_adds() {
    for (name, _, sql) in STEPS {
        let statements = statements(sql);
        let made = made(&statements);
        for statement in statements.iter().filter(|one| *one != "DO" || !READ.contains(name)) {
            assert_eq!(breaks(statement, &made), None, "step `{name}`: {statement}");
        }
    }
}

#[test]
fn what_would_not_go_side_by_side_is_found() {
    for bad in [
        "DROP TABLE pace",
        "ALTER TABLE thread DROP COLUMN past",
        "ALTER TABLE thread RENAME COLUMN past TO imported",
        "ALTER TABLE thread ALTER COLUMN head TYPE numeric",
        "ALTER TABLE thread ADD COLUMN kind text NOT NULL",
        "ALTER TABLE thread ADD CONSTRAINT positive CHECK (head >= 0)",
        "CREATE UNIQUE INDEX one_title ON summary (tenant, title)",
        "CREATE TRIGGER t AFTER INSERT ON thread FOR EACH ROW EXECUTE FUNCTION f()",
        "UPDATE thread SET head = 0",
        "CREATE OR REPLACE FUNCTION append_known() RETURNS void LANGUAGE sql AS",
        "DO",
    ] {
        assert!(breaks(bad, &[]).is_some(), "{bad}");
    }
    for good in [
        "ALTER TABLE thread ADD COLUMN kind text",
        "ALTER TABLE thread ADD COLUMN kind text NOT NULL DEFAULT ''",
        "CREATE INDEX by_title ON summary (tenant, title)",
    ] {
        assert_eq!(breaks(good, &[]), None, "{good}");
    }
}

#[test]
fn releases_are_in_order_and_none_is_of_the_future() {
    assert!(STEPS.is_sorted_by_key(|(_, release, _)| release));
    assert!(STEPS.iter().all(|(_, release, _)| *release <= RELEASE));
    assert!(release("0", "9") < release("1", "0"));
    assert_eq!(named(release("1", "2")), "1.2");
}
