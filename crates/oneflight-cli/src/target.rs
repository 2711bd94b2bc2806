//! The database that a command works on, and the password that nobody may see.
//!
//!   --into postgres://ann:pw@host/db ─┐
//!   PGPASSWORD / MYSQL_PWD ───────────┴▶ Target { url (with the password), shown (without) }
//!
//! T1. Only `url` holds the password, and only the library gets `url`.
//! T2. Everything that is printed goes through [`scrub`], which knows what a password in a URL looks like, wherever it stands.

use std::path::{Path, PathBuf};

/// What stands where a password stood.
const HIDDEN: &str = "***";

/// What targets look like, for messages.
const FORMS: &str =
    "`sqlite:FILE`, `postgres://USER@HOST/DATABASE` or `mysql://USER@HOST/DATABASE`";

/// A database.
#[derive(Clone)]
pub(crate) struct Target {
    url: String,
    shown: String,
}

impl Target {
    /// Understands a URL; `env` looks up environment variables (handed in, so that a test can).
    ///
    /// # Errors
    /// If it is no URL of a database that there is support for; the message says what would be one.
    pub(crate) fn parse(text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let shown = scrub(text);
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        let url = match scheme {
            "sqlite"
                if text
                    .trim_start_matches("sqlite:")
                    .trim_start_matches("//")
                    .is_empty() =>
            {
                return Err(format!("`{shown}` names no file; write `sqlite:FILE`"));
            }
            "sqlite" => text.to_owned(),
            "postgres" | "postgresql" => with_authority(text, &shown, env("PGPASSWORD"))?,
            "mysql" | "mariadb" => with_authority(text, &shown, env("MYSQL_PWD"))?,
            _ if text.ends_with(".db")
                || text.ends_with(".sqlite")
                || text.ends_with(".sqlite3") =>
            {
                return Err(format!(
                    "`{shown}` is no URL; did you mean `sqlite:{shown}`?"
                ));
            }
            _ => {
                return Err(format!(
                    "`{shown}` is no database that is known here; it would be {FORMS}"
                ));
            }
        };
        Ok(Self { url, shown })
    }

    /// The SQLite file that a map is merged into when nothing else is said.
    pub(crate) fn beside(map: &Path) -> Self {
        let stem = map
            .file_stem()
            .map_or_else(|| "oneflight".into(), |stem| stem.to_string_lossy());
        Self::of_file(&format!("{stem}.db"))
    }

    /// A SQLite file.
    pub(crate) fn of_file(path: &str) -> Self {
        // In a URL, `?` begins the options and `%` a character by its number.
        let url = format!("sqlite:{}", path.replace('%', "%25").replace('?', "%3F"));
        Self {
            shown: url.clone(),
            url,
        }
    }

    /// The URL, with the password.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The URL as it may be printed.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// The file, if the database is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let rest = self.url.strip_prefix("sqlite:")?;
        let path = rest.strip_prefix("//").unwrap_or(rest);
        let path = path.split('?').next().unwrap_or(path);
        (path != ":memory:").then(|| PathBuf::from(unpercent(path)))
    }
}

/// The password stays out of debug output too (T1).
impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Target").field(&self.shown).finish()
    }
}

/// The URL of a server, with the password of the environment where it brings none of its own.
fn with_authority(text: &str, shown: &str, password: Option<String>) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").ok_or_else(|| {
        format!("`{shown}` is no database that is known here; it would be {FORMS}")
    })?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if path
        .trim_start_matches('/')
        .split(['?', '#'])
        .next()
        .is_none_or(str::is_empty)
    {
        return Err(format!(
            "`{shown}` names no database; write `{scheme}://{}/DATABASE`",
            scrub_authority(authority)
        ));
    }
    match password {
        Some(password) if !user.contains(':') && !path.contains("password=") => {
            let user = match user {
                "" => default_user(scheme),
                user => user.to_owned(),
            };
            Ok(format!(
                "{scheme}://{user}:{}@{host}{path}",
                percent(&password)
            ))
        }
        _ => Ok(text.to_owned()),
    }
}

/// The user that a server's own client would take.
fn default_user(scheme: &str) -> String {
    let named = if scheme.starts_with("postgres") {
        std::env::var("PGUSER").ok()
    } else {
        None
    };
    named
        .or_else(|| std::env::var("USER").ok())
        .map_or_else(|| "root".to_owned(), |user| percent(&user))
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Decodes what [`percent`] encodes; what is no encoding stays as it is.
fn unpercent(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

fn scrub_authority(authority: &str) -> String {
    let whole = scrub(&format!("x://{authority}"));
    whole.trim_start_matches("x://").to_owned()
}

/// Takes the passwords out of all URLs in a text.
pub(crate) fn scrub(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail
            .find(|c: char| c.is_whitespace() || "`'\"<>".contains(c))
            .unwrap_or(tail.len());
        let (url, after) = tail.split_at(end);
        // A password may hold `@`, `/` or `:` that should have been encoded: the last `@` ends it, the first `:` begins it.
        match url
            .rsplit_once('@')
            .and_then(|(user, host)| Some((user.split_once(':')?.0, host)))
        {
            Some((user, host)) => {
                out.push_str(user);
                out.push(':');
                out.push_str(HIDDEN);
                out.push('@');
                out.push_str(host);
            }
            None => out.push_str(url),
        }
        rest = after;
    }
    out.push_str(rest);
    scrub_parameters(&out)
}

/// Takes out `password=…`, as it stands in the parameters of a URL or in a connection string.
fn scrub_parameters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("password=") {
        let (head, tail) = rest.split_at(at + "password=".len());
        out.push_str(head);
        out.push_str(HIDDEN);
        let end = tail
            .find(|c: char| c.is_whitespace() || "&`'\"<>".contains(c))
            .unwrap_or(tail.len());
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn a_password_is_hidden_wherever_a_url_stands() {
        for (text, shown) in [
            (
                "postgres://ann:secret@host/db",
                "postgres://ann:***@host/db",
            ),
            (
                "cannot reach `mysql://ann:se/cr@et@host:3306/db` now",
                "cannot reach `mysql://ann:***@host:3306/db` now",
            ),
            (
                "postgres://host/db?user=ann&password=secret&x=1",
                "postgres://host/db?user=ann&password=***&x=1",
            ),
            (
                "a postgres://a:b@c/d and mysql://e:f@g/h.",
                "a postgres://a:***@c/d and mysql://e:***@g/h.",
            ),
            ("postgres://ann@host/db", "postgres://ann@host/db"),
            ("no url at all", "no url at all"),
        ] {
            assert_eq!(scrub(text), shown);
        }
    }

    #[test]
    fn the_password_of_the_environment_is_used_where_the_url_has_none() {
        let env = |name: &str| (name == "PGPASSWORD").then(|| "p w/@".to_owned());
        let target = Target::parse("postgres://ann@host/db", env).unwrap();
        assert_eq!(target.url(), "postgres://ann:p%20w%2F%40@host/db");
        assert_eq!(target.shown(), "postgres://ann@host/db");
        let target = Target::parse("postgres://ann:own@host/db", env).unwrap();
        assert_eq!(target.url(), "postgres://ann:own@host/db");
        assert_eq!(
            format!("{target:?}"),
            "Target(\"postgres://ann:***@host/db\")"
        );
        let target = Target::parse("mysql://ann@host/db", env).unwrap();
        assert_eq!(
            target.url(),
            "mysql://ann@host/db",
            "another database's variable"
        );
    }

    #[test]
    fn a_wrong_target_is_told_what_would_be_right() {
        for (text, part) in [
            ("club.db", "did you mean `sqlite:club.db`?"),
            ("sqlite:", "write `sqlite:FILE`"),
            (
                "oracle://ann:secret@host/db",
                "`oracle://ann:***@host/db` is no database that is known here",
            ),
            (
                "postgres://ann:secret@host",
                "write `postgres://ann:***@host/DATABASE`",
            ),
            ("postgres:db", "it would be `sqlite:FILE`"),
            ("", "it would be `sqlite:FILE`"),
        ] {
            let message = Target::parse(text, none).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn the_default_is_a_file_named_like_the_map() {
        let target = Target::beside(Path::new("maps/league.toml"));
        assert_eq!(target.url(), "sqlite:league.db");
        assert_eq!(target.file(), Some(PathBuf::from("league.db")));
        let target = Target::beside(Path::new("100%?.toml"));
        assert_eq!(
            (target.url(), target.file()),
            ("sqlite:100%25%3F.db", Some(PathBuf::from("100%?.db")))
        );
        assert_eq!(
            Target::parse("sqlite:///tmp/a.db?mode=rwc", none)
                .unwrap()
                .file(),
            Some(PathBuf::from("/tmp/a.db"))
        );
        assert_eq!(Target::parse("sqlite::memory:", none).unwrap().file(), None);
    }
}
