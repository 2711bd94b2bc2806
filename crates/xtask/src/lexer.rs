//! Rust, as far as the rules need it: which part of each line is code, which is comment, and which lines are tests.
//!
//! ```text
//!   let a = "// b"; // why      ──▶   code `let a = "";`   comment `why`
//! ```
//!
//! L1. The inside of a string is neither code nor comment; a line that has only that still counts as code.

/// One line of a file.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// The code, without comments and without what strings say.
    pub(crate) code: String,
    /// The text of comments, doc comments too.
    pub(crate) comment: String,
    /// True if the line is code: it has some, or lies in a string (L1).
    pub(crate) counts: bool,
    /// True if the line belongs to an item under `#[cfg(test)]`.
    pub(crate) test: bool,
}

/// Splits a file into lines.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut lines = split(text);
    mark_tests(&mut lines);
    lines
}

/// What the next character belongs to.
#[derive(Clone, Copy)]
enum Place {
    Code,
    LineComment,
    /// How many of them are nested.
    BlockComment(u32),
    /// A string that knows escapes.
    Text,
    /// A raw string, and how many `#` end it.
    Raw(usize),
}

fn split(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut place = Place::Code;
    for source in text.lines() {
        let mut line = Line {
            counts: matches!(place, Place::Text | Place::Raw(_)),
            ..Line::default()
        };
        let mut rest = source;
        while let Some(next) = rest.chars().next() {
            let (taken, then) = step(place, rest, line.code.chars().last());
            match (place, then) {
                (Place::Code, Place::Code | Place::Text | Place::Raw(_)) => {
                    line.code.push_str(&rest[..taken])
                }
                (Place::LineComment | Place::BlockComment(_), _) => line.comment.push(next),
                (Place::Text | Place::Raw(_), Place::Code) => line.code.push('"'),
                _ => {}
            }
            place = then;
            rest = &rest[taken..];
        }
        if let Place::LineComment = place {
            place = Place::Code;
        }
        line.counts |= !line.code.trim().is_empty();
        lines.push(line);
    }
    lines
}

/// How many bytes of `rest` belong together, and where we are after them.
fn step(place: Place, rest: &str, before: Option<char>) -> (usize, Place) {
    let one = rest.chars().next().map_or(0, char::len_utf8);
    match place {
        Place::Code if rest.starts_with("//") => (2, Place::LineComment),
        Place::Code if rest.starts_with("/*") => (2, Place::BlockComment(1)),
        Place::Code if rest.starts_with('"') => (1, Place::Text),
        Place::Code
            if rest.starts_with('r')
                && !before.is_some_and(|c| c.is_alphanumeric() && c != 'b' || c == '_') =>
        {
            raw(rest).map_or((one, Place::Code), |(taken, hashes)| {
                (taken, Place::Raw(hashes))
            })
        }
        Place::Code if rest.starts_with('\'') => (character(rest), Place::Code),
        Place::Code => (one, Place::Code),
        Place::LineComment => (one, Place::LineComment),
        Place::BlockComment(depth) if rest.starts_with("/*") => (2, Place::BlockComment(depth + 1)),
        Place::BlockComment(1) if rest.starts_with("*/") => (2, Place::Code),
        Place::BlockComment(depth) if rest.starts_with("*/") => (2, Place::BlockComment(depth - 1)),
        Place::BlockComment(depth) => (one, Place::BlockComment(depth)),
        Place::Text if rest.starts_with('\\') => (
            one + rest[one..].chars().next().map_or(0, char::len_utf8),
            Place::Text,
        ),
        Place::Text if rest.starts_with('"') => (1, Place::Code),
        Place::Text => (one, Place::Text),
        Place::Raw(hashes)
            if rest.starts_with('"') && rest[1..].starts_with(&"#".repeat(hashes)) =>
        {
            (1 + hashes, Place::Code)
        }
        Place::Raw(hashes) => (one, Place::Raw(hashes)),
    }
}

/// The opening of a raw string at the start of `rest`: its length and its number of `#`.
fn raw(rest: &str) -> Option<(usize, usize)> {
    let hashes = rest[1..].bytes().take_while(|b| *b == b'#').count();
    rest[1 + hashes..]
        .starts_with('"')
        .then_some((2 + hashes, hashes))
}

/// The length of the character literal at the start of `rest`, or of the quote alone where it begins a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    let escaped = chars.next().is_some_and(|(_, c)| c == '\\');
    let end = if escaped { chars.nth(1) } else { chars.next() };
    match end {
        Some((at, '\'')) => at + 1,
        // `'\u{1F600}'`
        Some(_) if escaped => rest[1..].find('\'').map_or(1, |at| at + 2),
        _ => 1,
    }
}

/// Marks the items that stand under `#[cfg(test)]`, to their closing brace or semicolon.
fn mark_tests(lines: &mut [Line]) {
    let mut item: Option<i32> = None;
    for line in lines {
        let code = line.code.trim();
        if item.is_none()
            && (code.starts_with("#[cfg(test)]") || code.starts_with("#[cfg(all(test"))
        {
            item = Some(0);
        }
        let Some(depth) = &mut item else { continue };
        line.test = true;
        let attribute = code.starts_with("#[");
        let mut ended = false;
        for c in code.chars().filter(|_| !attribute) {
            match c {
                '{' => *depth += 1,
                '}' => {
                    *depth -= 1;
                    ended |= *depth == 0;
                }
                ';' => ended |= *depth == 0,
                _ => {}
            }
        }
        if ended {
            item = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_and_the_insides_of_strings_are_no_code() {
        assert_eq!(code("a(\"x // {\"); // why"), ["a(\"\"); "]);
        assert_eq!(code("a /* b /* c */ d */ e"), ["a  e"]);
        assert_eq!(
            code("r#\"todo!() \" \"#; b\"\\\"\" 'x' '\"' '\\'' '\\u{1F600}' &'a str"),
            ["r#\"\"; b\"\" 'x' '\"' '\\'' '\\u{1F600}' &'a str"]
        );
        assert_eq!(lines("a // why")[0].comment, " why");
    }

    #[test]
    fn a_line_inside_a_string_counts_as_code() {
        let counts: Vec<_> = lines("a = \"\n  b\n\";\n\n// c")
            .iter()
            .map(|line| line.counts)
            .collect();
        assert_eq!(counts, [true, true, true, false, false]);
    }

    #[test]
    fn tests_end_with_their_item() {
        let text = "a\n#[cfg(test)]\nmod tests {\n fn b() { }\n}\nc\n#[cfg(test)]\nuse d;\ne";
        let tests: Vec<_> = lines(text).iter().map(|line| line.test).collect();
        assert_eq!(
            tests,
            [false, true, true, true, true, false, true, true, false]
        );
    }
}
