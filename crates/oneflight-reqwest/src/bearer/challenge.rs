//! What a 401 asks for: the challenges of `WWW-Authenticate` (RFC 9110, 11.6.1), and what a bearer's says (RFC 6750, 3).
//!
//! ```text
//!   Basic realm="a, b", Bearer realm="api", error="invalid_token"
//!   └── a scheme, then its parameters; a comma parts both parameters and challenges
//! ```
//!
//! What stands behind a fault in a field is not read; what stands before it counts.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// True if another bearer token may help: there is no challenge at all, or one for a bearer, and none of those names an error other
/// than `invalid_token`.
pub(super) fn asks_for_another_token(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(WWW_AUTHENTICATE);
    if fields.iter().next().is_none() {
        return true;
    }
    let mut bearer = false;
    for challenge in fields.iter().flat_map(|field| read(field.as_bytes())) {
        if challenge.scheme.eq_ignore_ascii_case(b"bearer") {
            bearer = true;
            if challenge.errors().any(|error| error != b"invalid_token") {
                return false;
            }
        }
    }
    bearer
}

#[derive(Debug, PartialEq, Eq)]
struct Challenge<'f> {
    scheme: &'f [u8],
    parameters: Vec<Parameter<'f>>,
}

/// A name and its value, quotes and escapes taken off.
type Parameter<'f> = (&'f [u8], Vec<u8>);

impl Challenge<'_> {
    fn errors(&self) -> impl Iterator<Item = &[u8]> {
        let named = |(name, _): &&(&[u8], _)| name.eq_ignore_ascii_case(b"error");
        let parameters = self.parameters.iter().filter(named);
        parameters.map(|(_, value)| value.as_slice())
    }
}

/// The challenges of one field, up to its first fault.
fn read(field: &[u8]) -> Vec<Challenge<'_>> {
    let mut challenges = Vec::new();
    let mut rest = Rest(field);
    while rest.element(&mut challenges).is_some() {}
    challenges
}

/// What is still to be read of a field.
struct Rest<'f>(&'f [u8]);

impl<'f> Rest<'f> {
    /// Reads a scheme, with what may stand behind it, or a parameter of the last one. None at the end, and at a fault.
    fn element(&mut self, challenges: &mut Vec<Challenge<'f>>) -> Option<()> {
        self.skip(|c| matches!(c, b' ' | b'\t' | b','));
        let name = self.token()?;
        if let Some(value) = self.value()? {
            challenges.last_mut()?.parameters.push((name, value));
            return self.end_of_element();
        }
        let mut challenge = Challenge {
            scheme: name,
            parameters: Vec::new(),
        };
        let first = self.first_of_challenge();
        let whole = first.is_some();
        challenge.parameters.extend(first.flatten());
        challenges.push(challenge);
        whole.then(|| self.end_of_element()).flatten()
    }

    /// The parameter that stands behind a scheme and a space, if there is one. None at a fault.
    fn first_of_challenge(&mut self) -> Option<Option<Parameter<'f>>> {
        if !self.0.starts_with(b" ") {
            return Some(None);
        }
        self.spaces();
        self.token68();
        if self.0.is_empty() || self.0.starts_with(b",") {
            return Some(None);
        }
        let (name, value) = (self.token()?, self.value()??);
        Some(Some((name, value)))
    }

    /// The value behind a `=`; no value if there is none, and nothing at a fault.
    fn value(&mut self) -> Option<Option<Vec<u8>>> {
        let before = self.0;
        self.spaces();
        if !self.eat(b'=') {
            self.0 = before;
            return Some(None);
        }
        self.spaces();
        if self.eat(b'"') {
            return self.quoted().map(Some);
        }
        self.token().map(|token| Some(token.to_vec()))
    }

    /// The text of a quoted string whose first quote is behind us.
    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let (&c, rest) = self.0.split_first()?;
            self.0 = rest;
            match c {
                b'"' => return Some(text),
                b'\\' => {
                    let (&escaped, rest) = self.0.split_first()?;
                    self.0 = rest;
                    text.push(escaped);
                }
                _ => text.push(c),
            }
        }
    }

    /// Passes over the one credential that some schemes have in place of parameters, if that is what stands here.
    fn token68(&mut self) {
        let before = self.0;
        self.skip(|c| c.is_ascii_alphanumeric() || b"-._~+/".contains(&c));
        self.skip(|c| c == b'=');
        let passed = self.0.len() < before.len();
        if !passed || self.end_of_element().is_none() {
            self.0 = before;
        }
    }

    fn end_of_element(&mut self) -> Option<()> {
        self.spaces();
        (self.0.is_empty() || self.0.starts_with(b",")).then_some(())
    }

    fn token(&mut self) -> Option<&'f [u8]> {
        let token = self.skip(is_tchar);
        (!token.is_empty()).then_some(token)
    }

    fn spaces(&mut self) {
        self.skip(|c| matches!(c, b' ' | b'\t'));
    }

    fn eat(&mut self, c: u8) -> bool {
        let eaten = self.0.first() == Some(&c);
        self.0 = &self.0[usize::from(eaten)..];
        eaten
    }

    /// Passes over all that is so, and returns it.
    fn skip(&mut self, so: impl Fn(u8) -> bool) -> &'f [u8] {
        let end = self.0.iter().position(|&c| !so(c));
        let (passed, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        passed
    }
}

fn is_tchar(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn asks(fields: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(field).unwrap());
        }
        asks_for_another_token(&headers)
    }

    /// A challenge as it reads: `scheme name=value name=value`.
    fn said(field: &str) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let say = |challenge: &Challenge<'_>| {
            let mut said = text(challenge.scheme);
            for (name, value) in &challenge.parameters {
                said.push_str(&format!(" {}={}", text(name), text(value)));
            }
            said
        };
        read(field.as_bytes()).iter().map(say).collect()
    }

    #[test]
    fn a_bearer_without_an_error_or_with_an_invalid_token_asks_for_another() {
        for field in [
            "Bearer",
            "bearer",
            "BEARER realm=\"api\"",
            "Bearer error=\"invalid_token\"",
            "Bearer error=invalid_token",
            "Bearer ERROR = \"invalid_token\"",
            "Bearer realm=\"api\", error=\"invalid_token\", error_description=\"it expired\"",
            "Bearer error=\"invalid\\_token\"",
        ] {
            assert!(asks(&[field]), "{field}");
        }
        assert!(asks(&[]));
    }

    #[test]
    fn other_errors_and_other_schemes_do_not() {
        for field in [
            "",
            "Bearer error=\"insufficient_scope\"",
            "Bearer realm=\"api\",error=insufficient_scope , scope=\"a b\"",
            "Bearer error=\"invalid_request\"",
            "Bearer error=\"invalid_token\", error=\"insufficient_scope\"",
            "Basic realm=\"api\"",
            "DPoP error=\"invalid_token\"",
            "Negotiate",
            "BearerX",
            "Basic realm=\"Bearer\"",
            "Basic realm=\"a, Bearer error=\\\"invalid_token\\\"\"",
        ] {
            assert!(!asks(&[field]), "{field}");
        }
    }

    #[test]
    fn all_challenges_of_all_fields_are_read() {
        assert!(asks(&["Basic realm=\"a\", Bearer error=\"invalid_token\""]));
        assert!(asks(&["Basic realm=\"a\"", "Bearer"]));
        assert!(asks(&["Negotiate abc==, Bearer"]));
        assert!(!asks(&[
            "Bearer, Basic realm=\"a\"",
            "Bearer error=\"insufficient_scope\""
        ]));
        assert!(!asks(&[
            "Basic error=\"invalid_token\", Digest realm=\"Bearer\""
        ]));
    }

    #[test]
    fn challenges_are_told_apart_from_parameters() {
        let cases: [(&str, &[&str]); 12] = [
            ("A, B", &["A", "B"]),
            (" , ,A ,, B,", &["A", "B"]),
            ("A a=1, B b=2, c=3", &["A a=1", "B b=2 c=3"]),
            ("A a=\"1, B b=2\", c=3", &["A a=1, B b=2 c=3"]),
            ("A a = \"\\\"\\\\\"", &["A a=\"\\"]),
            ("A a=\"\"", &["A a="]),
            ("A dG9rZW4=, B", &["A", "B"]),
            ("A a=1,b=2,B", &["A a=1 b=2", "B"]),
            ("A , a=1", &["A a=1"]),
            ("A , B a=1", &["A", "B a=1"]),
            ("A abc/+~==", &["A"]),
            ("A a=b", &["A a=b"]),
        ];
        for (field, challenges) in cases {
            assert_eq!(said(field), challenges, "{field}");
        }
    }

    #[test]
    fn what_stands_before_a_fault_counts_and_nothing_behind_it() {
        let cases: [(&str, &[&str]); 8] = [
            ("A a=1 b=2, B", &["A a=1"]),
            ("A a b, B", &["A"]),
            ("A a=\"open, B", &["A"]),
            ("A a=\"open\\", &["A"]),
            ("A a=1, b=, B", &["A a=1"]),
            ("a=1, B", &[]),
            ("A, (, B", &["A"]),
            ("A a=1, b=\u{7f}", &["A a=1"]),
        ];
        for (field, challenges) in cases {
            assert_eq!(said(field), challenges, "{field}");
        }
    }
}
