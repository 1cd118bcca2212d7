//! What a user gives, and templates that it fills: a plain text, or an object with several.

use selvedge_protocol::base64::{Alphabet, encode};
use selvedge_protocol::json::quote;
use serde_json::{Map, Value};

/// Members that are the credential itself, if it is an object.
const SELF: &[&str] = &["access_token", "accessToken", "token", "apiKey", "api_key", "password"];

/// A credential as it was given.
pub(super) struct Given<'a> {
    text: &'a str,
    members: Option<Map<String, Value>>,
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum BadTemplate {
    #[error("`{{` without a name and `}}` behind it")]
    Unclosed,
    #[error("there is no place for the credential, such as `{{credential}}`")]
    NoPlace,
}

/// Whether a text is a template.
pub(crate) fn check(template: &str) -> Result<(), BadTemplate> {
    let mut places = 0;
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or(BadTemplate::Unclosed)?;
        if name.is_empty() || name.contains('{') {
            return Err(BadTemplate::Unclosed);
        }
        places += 1;
        rest = after;
    }
    if places == 0 { Err(BadTemplate::NoPlace) } else { Ok(()) }
}

impl<'a> Given<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let members = match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Some(members),
            _ => None,
        };
        Self { text: text.trim(), members }
    }

    /// The template with the credential in it; nothing if it has no such member.
    pub(super) fn fill(&self, template: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            out.push_str(before);
            match name {
                "credential" => out.push_str(self.itself()?),
                "basic" => out.push_str(&self.basic()?),
                name => out.push_str(self.member(name)?),
            }
            rest = after;
        }
        out.push_str(rest);
        Some(out)
    }

    /// How many milliseconds it lasts from `now`, if it says so.
    pub(super) fn lasts(&self, now: i64) -> Option<i64> {
        let members = self.members.as_ref()?;
        let seconds = ["expires_in", "expiresIn"].iter().find_map(|name| members.get(*name));
        if let Some(seconds) = seconds.and_then(Value::as_f64) {
            return Some((seconds.clamp(0.0, 1e12) * 1000.0) as i64);
        }
        let at = ["expires_at", "expiresAt"].iter().find_map(|name| members.get(*name));
        let at = selvedge_protocol::time::to_millis(at?.as_str()?)?;
        Some(at.saturating_sub(now))
    }

    /// Everything of it that must not be seen, also as JSON has it.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = match &self.members {
            Some(members) => {
                let known = |name: &str| {
                    let open = ["username", "user", "token_type", "scope", "expires_at"];
                    !open.contains(&name) && name != "expiresAt"
                };
                let texts = members.iter().filter(|(name, _)| known(name));
                texts.filter_map(|(_, value)| value.as_str()).map(str::to_owned).collect()
            }
            None => vec![self.text.to_owned()],
        };
        secrets.extend(self.basic());
        let quoted = secrets.iter().map(|secret| quote(secret).trim_matches('"').to_owned());
        let quoted: Vec<String> = quoted.filter(|quoted| !secrets.contains(quoted)).collect();
        secrets.extend(quoted);
        secrets
    }

    fn itself(&self) -> Option<&str> {
        match &self.members {
            Some(_) => SELF.iter().find_map(|name| self.member(name)),
            None => Some(self.text),
        }
    }

    fn member(&self, name: &str) -> Option<&str> {
        self.members.as_ref()?.get(name)?.as_str()
    }

    fn basic(&self) -> Option<String> {
        let user = self.member("username").or_else(|| self.member("user"))?;
        let password = self.member("password")?;
        Some(encode(format!("{user}:{password}").as_bytes(), Alphabet::Standard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_fills_its_template_in_each_of_its_forms() {
        let object = r#"{"username":"ada","password":"love lace","access_token":"tok"}"#;
        for (given, template, wanted) in [
            ("secret\n", "Bearer {credential}", Some("Bearer secret")),
            (object, "Bearer {credential}", Some("Bearer tok")),
            (object, "Basic {basic}", Some("Basic YWRhOmxvdmUgbGFjZQ==")),
            (object, "{username}/{password}", Some("ada/love lace")),
            (object, "{other}", None),
            ("plain", "{username}", None),
            ("[1]", "x{credential}y", Some("x[1]y")),
        ] {
            assert_eq!(Given::read(given).fill(template).as_deref(), wanted, "{template}");
        }
        assert_eq!(check("Bearer {credential}"), Ok(()));
        assert_eq!(check("Bearer"), Err(BadTemplate::NoPlace));
        assert_eq!(check("{credential"), Err(BadTemplate::Unclosed));
        assert_eq!(check("{}"), Err(BadTemplate::Unclosed));
    }

    #[test]
    fn how_long_it_lasts_is_taken_from_what_it_says() {
        assert_eq!(Given::read("x").lasts(0), None);
        assert_eq!(Given::read(r#"{"expires_in":60}"#).lasts(5), Some(60_000));
        let at = r#"{"expiresAt":"1970-01-01T00:00:10Z"}"#;
        assert_eq!(Given::read(at).lasts(4_000), Some(6_000));
        assert_eq!(Given::read(r#"{"expires_in":-1}"#).lasts(5), Some(0));
    }

    #[test]
    fn secrets_are_known_also_as_json_writes_them() {
        let secrets = Given::read("a\"b\\c").secrets();
        assert_eq!(secrets, ["a\"b\\c", "a\\\"b\\\\c"]);
        let of = Given::read(r#"{"username":"ada","password":"pw"}"#).secrets();
        assert_eq!(of, ["pw", "YWRhOnB3"], "a name is no secret");
    }
}
