//! The file of a store: a line for each thing, secrets escaped so that a line is a line.
//!
//! ```text
//!   oneflight token 2
//!   version 7
//!   issued 1764466260000        milliseconds since 1970
//!   expires 1764469860000
//!   access …
//!   refresh …
//!   sent 1764469500000          if the refresh token is on its way
//! ```
//!
//! Version 1 of the file had no `sent`. It is read, and replaced by version 2 with the next swap.
//!
//! A file with an unknown line or another number in its head is refused, and left as it is: it may be of a newer version of this crate.

use crate::token::pair::{Pair, Stored, Version};
use crate::token::secret::Secret;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

const HEAD: &str = "oneflight token 2";
const HEADS: [&str; 2] = ["oneflight token 1", HEAD];

/// The text of a file. It never grows, so that no copy of a secret is left in memory that was given back.
pub(super) fn write(stored: &Stored) -> Zeroizing<String> {
    let pair = stored.pair.as_ref();
    let secrets = pair.map_or(0, |pair| {
        pair.access().expose().len() + pair.refresh().map_or(0, |token| token.expose().len())
    });
    let mut text = Zeroizing::new(String::with_capacity(256 + 2 * secrets));
    // Writing to a text does not fail.
    let _ = writeln!(text, "{HEAD}\nversion {}", stored.version.get());
    let Some(pair) = pair else { return text };
    let times = [
        ("issued", pair.issued_at()),
        ("expires", pair.expires_at()),
        ("sent", stored.sent),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            let _ = writeln!(text, "{name} {}", since.as_millis());
        }
    }
    for (name, secret) in [("access", Some(pair.access())), ("refresh", pair.refresh())] {
        if let Some(secret) = secret {
            let _ = write!(text, "{name} ");
            escape(secret.expose(), &mut text);
            text.push('\n');
        }
    }
    text
}

/// What a file says.
///
/// # Errors
/// What is wrong with it, without a word of what is in it (R6).
pub(super) fn read(text: &str) -> Result<Stored, String> {
    let mut lines = text.lines();
    if !lines.next().is_some_and(|head| HEADS.contains(&head)) {
        return Err(format!("it does not begin with `{HEAD}`"));
    }
    // The last line of a file that was cut off may be half a token.
    if !text.ends_with('\n') {
        return Err("its last line has no end".to_owned());
    }
    let (mut version, mut access, mut refresh) = (None, None, None);
    let (mut issued, mut expires, mut sent) = (None, None, None);
    for (number, line) in (2..).zip(lines) {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let known = match name {
            "version" => put(&mut version, value.parse().ok().map(Version::new)),
            "issued" => put(&mut issued, time(value)),
            "expires" => put(&mut expires, time(value)),
            "sent" => put(&mut sent, time(value)),
            "access" => put(&mut access, unescape(value)),
            "refresh" => put(&mut refresh, unescape(value)),
            _ => false,
        };
        if !known {
            return Err(format!("line {number} cannot be understood"));
        }
    }
    let version = version.ok_or("it has no version")?;
    let Some(access) = access else {
        return Ok(Stored::new(version, None));
    };
    let mut pair = Pair::new(access);
    if let Some(refresh) = refresh {
        pair = pair.with_refresh(refresh);
    }
    if let Some(issued) = issued {
        pair = pair.with_issued_at(issued);
    }
    if let Some(expires) = expires {
        pair = pair.with_expires_at(expires);
    }
    let mut stored = Stored::new(version, Some(pair));
    stored.sent = sent;
    Ok(stored)
}

/// Puts a value in its place; false if it is none, or if there is one.
fn put<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let known = place.is_none() && value.is_some();
    if known {
        *place = value;
    }
    known
}

/// Any time that can be written is read again: a server may say that a token lives for a billion years.
fn time(value: &str) -> Option<SystemTime> {
    let millis: u128 = value.parse().ok()?;
    let seconds = u64::try_from(millis / 1000).ok()?;
    let rest = Duration::from_millis((millis % 1000) as u64);
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds).checked_add(rest)?)
}

fn escape(secret: &str, into: &mut String) {
    for c in secret.chars() {
        match c {
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            c => into.push(c),
        }
    }
}

fn unescape(value: &str) -> Option<Secret> {
    let mut text = Zeroizing::new(String::with_capacity(value.len()));
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            c => c,
        });
    }
    Some(Secret::new(std::mem::take(&mut *text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(access: &str) -> Stored {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let pair = Pair::new(access)
            .with_refresh("r\r\n\\n ü")
            .with_issued_at(at(100))
            .with_expires_at(at(3700));
        Stored::new(Version::new(7), Some(pair)).with_sent(at(3600))
    }

    #[test]
    fn what_was_written_is_read() {
        for access in ["", "a", " a b ", "line\nline", "\\n", "🔑"] {
            let back = read(&write(&stored(access))).unwrap();
            let pair = back.pair.unwrap();
            assert_eq!((back.version.get(), back.sent), (7, stored("").sent));
            assert_eq!(pair.access().expose(), access);
            assert_eq!(pair.refresh().unwrap().expose(), "r\r\n\\n ü");
            assert_eq!(pair.issued_at(), stored("").pair.unwrap().issued_at());
            assert_eq!(pair.expires_at(), stored("").pair.unwrap().expires_at());
        }
        let empty = Stored::new(Version::new(3), None);
        let back = read(&write(&empty)).unwrap();
        assert_eq!((back.version.get(), back.pair.is_none()), (3, true));
    }

    #[test]
    fn the_latest_time_is_read_as_it_was_written() {
        let seconds = [1 << 54, 100_000_000_000_000_000, i64::MAX as u64];
        for time in seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)) {
            let pair = Pair::new("a").with_expires_at(time);
            let back = read(&write(&Stored::new(Version::new(1), Some(pair)))).unwrap();
            assert_eq!(back.pair.unwrap().expires_at(), Some(time));
        }
        let beyond = [
            "9223372036854775808000",
            "340282366920938463463374607431768211455",
        ];
        for time in beyond {
            let text = format!("{HEAD}\nversion 1\nexpires {time}\naccess a\n");
            assert_eq!(read(&text).unwrap_err(), "line 3 cannot be understood");
        }
    }

    #[test]
    fn a_file_of_version_1_is_read() {
        let text = "oneflight token 1\nversion 3\nissued 1000\nexpires 2000\naccess a\nrefresh r\n";
        let back = read(text).unwrap();
        let pair = back.pair.unwrap();
        assert_eq!((back.version.get(), back.sent), (3, None));
        assert_eq!(pair.access().expose(), "a");
        assert_eq!(pair.refresh().unwrap().expose(), "r");
        let end = UNIX_EPOCH + Duration::from_secs(2);
        assert_eq!(pair.expires_at(), Some(end));
        let text = write(&Stored::new(Version::new(4), Some(Pair::new("b"))));
        assert!(text.starts_with("oneflight token 2\n"), "{}", *text);
    }

    #[test]
    fn no_text_that_was_cut_off_is_read() {
        let whole = write(&stored("access"));
        for end in (0..whole.len()).filter(|&end| whole.is_char_boundary(end)) {
            // But for a file that ends with a whole line: it is put there in one step, and never so.
            let cut = &whole[..end];
            assert!(read(cut).is_err() || cut.ends_with('\n'), "{cut}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_without_being_shown() {
        let whole = write(&stored("access"));
        let bad = [
            String::new(),
            whole.replace("token 2", "token 3"),
            whole.replace("version 7", "version seven"),
            whole.replace("version 7\n", ""),
            whole.replace("version 7", "version 7\nversion 8"),
            whole.replace("expires", "expired"),
            whole.replace("access access", "access acc\\ess"),
        ];
        for text in bad {
            let error = read(&text).unwrap_err();
            assert!(
                !error.contains("acc") && !error.contains("seven"),
                "{error}"
            );
        }
    }
}
