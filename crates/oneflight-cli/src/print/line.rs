//! Lines and words: written where they belong, and harmless.

use crate::exit::Failure;
use std::io::Write;

/// Writes to standard output. A reader that went away (`| head`) is no error: it has seen what it wanted.
///
/// # Errors
/// If it cannot be written, such as to a disk that is full.
pub(crate) fn out(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let wrote = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match wrote {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::say(format!(
            "cannot write the summary to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Writes a line to standard error, without the passwords in it.
pub(crate) fn err(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(crate::target::scrub(text).as_bytes());
    let _ = stderr.write_all(b"\n");
}

/// Writes a piece of a line to standard error, without the passwords in it.
pub(crate) fn err_part(text: &str) {
    let _ = std::io::stderr()
        .lock()
        .write_all(crate::target::scrub(text).as_bytes());
}

/// A text of someone else's as it may stand in a line of ours: control characters are escaped, so that no feed can move the
/// cursor of the terminal or begin a line of its own.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A word as it can be typed into a shell.
pub(crate) fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:@,+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_word_can_be_typed_into_a_shell() {
        let words = ["a/b.toml", "my demo", "it's"].map(super::shell);
        assert_eq!(words, ["a/b.toml", "'my demo'", r"'it'\''s'"]);
    }

    #[test]
    fn a_feed_cannot_write_control_characters_to_the_terminal() {
        assert_eq!(super::plain("a\u{1b}[2J\nb\té"), "a\\u{1b}[2J\\nb\\té");
    }
}
