//! Findings for programs: one JSON object on a line.

use std::fmt::Write as _;

use selvedge_protocol::json::quote;

use super::Checked;

/// `{"valid":…,"dialect":…,"diagnostics":[…]}` and a line end.
pub(super) fn render(checked: &Checked) -> String {
    let dialect = checked.dialect.map_or("null".to_owned(), |dialect| quote(dialect.id.name()));
    let valid = checked.report.is_valid();
    let mut out = format!("{{\"valid\":{valid},\"dialect\":{dialect},\"diagnostics\":[");
    for (i, found) in checked.report.diagnostics().iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let _ = write!(
            out,
            "{{\"code\":{},\"severity\":\"{}\",\"pointer\":{},\"message\":{}}}",
            quote(found.code),
            found.severity,
            quote(&found.pointer),
            quote(&found.message),
        );
    }
    out.push_str("]}\n");
    out
}
