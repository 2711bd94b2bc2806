//! Which requests are the same (C1).

use crate::bearer::NoBearer;
use http::header::{ACCEPT, HeaderName, HeaderValue, UPGRADE};
use http::{Extensions, Method, Version};
use oneflight::token::Identity;
use reqwest::{Request, Url};
use std::any::{Any, TypeId};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// A mark for a request that is to be sent by itself, as an extension of it: one that must see what was written just now, say.
///
/// # Examples
/// ```
/// # let client = reqwest_middleware::ClientWithMiddleware::default();
/// use oneflight_reqwest::Alone;
///
/// let request = client.get("https://api.example.com/next-number").with_extension(Alone);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alone;

/// What makes two requests the same. `Debug` shows method, host and path of it: the rest may hold secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    method: Method,
    url: Url,
    version: Version,
    timeout: Option<Duration>,
    /// Sorted by name; values of one name in their order.
    headers: Vec<(HeaderName, HeaderValue)>,
    extensions: Vec<Value>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, path) = (self.url.host_str().unwrap_or_default(), self.url.path());
        write!(f, "{} {host}{path}", self.method)
    }
}

/// What a layer knows of requests.
#[derive(Clone)]
pub(super) struct Rules {
    passed_over: Vec<HeaderName>,
    /// One for each type: `know` counts them.
    extensions: Vec<Rule>,
}

/// What an extension of one type means for the key.
#[derive(Clone, Copy)]
struct Rule {
    of: TypeId,
    is_there: fn(&Extensions) -> bool,
    value: fn(&Extensions) -> Option<Value>,
}

impl Rules {
    pub(super) fn new() -> Self {
        let mut rules = Self {
            passed_over: Vec::new(),
            extensions: Vec::new(),
        };
        // What says whose token the layer `Bearer` sends, wherever that one stands.
        rules.key_by::<Identity>();
        rules.key_by::<NoBearer>();
        rules
    }

    pub(super) fn pass_over_header(&mut self, name: HeaderName) {
        self.passed_over.push(name);
    }

    pub(super) fn key_by<T: Hash + Eq + Clone + Send + Sync + 'static>(&mut self) {
        self.rule(Rule {
            of: TypeId::of::<T>(),
            is_there: is_there::<T>,
            value: |extensions| extensions.get::<T>().map(Value::new),
        });
    }

    pub(super) fn pass_over<T: Clone + Send + Sync + 'static>(&mut self) {
        self.rule(Rule {
            of: TypeId::of::<T>(),
            is_there: is_there::<T>,
            value: |_| None,
        });
    }

    /// The last word on a type is what counts.
    fn rule(&mut self, rule: Rule) {
        self.extensions.retain(|other| other.of != rule.of);
        self.extensions.push(rule);
    }

    /// True if requests that differ in this header alone are the same.
    pub(super) fn passes_over(&self, name: &str) -> bool {
        let mut names = self.passed_over.iter();
        names.any(|passed| passed.as_str().eq_ignore_ascii_case(name))
    }

    /// The key of a request; none if it is to go alone.
    pub(super) fn key(&self, request: &Request, extensions: &Extensions) -> Option<Key> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if !reads || request.body().is_some() || wants_a_line(request) || !self.know(extensions) {
            return None;
        }
        let headers = request.headers().iter();
        let mut headers: Vec<_> = headers
            .filter(|(name, _)| !self.passed_over.contains(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        headers.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        let values = self.extensions.iter().map(|rule| (rule.value)(extensions));
        Some(Key {
            method: request.method().clone(),
            url: request.url().clone(),
            version: request.version(),
            timeout: request.timeout().copied(),
            headers,
            extensions: values.flatten().collect(),
        })
    }

    /// True if there is a rule for every extension.
    fn know(&self, extensions: &Extensions) -> bool {
        let rules = self.extensions.iter();
        let known = rules.filter(|rule| (rule.is_there)(extensions)).count();
        known == extensions.len()
    }
}

/// True if the answer is not a text with an end, but a line that stays open.
fn wants_a_line(request: &Request) -> bool {
    let headers = request.headers();
    let accepts = headers.get_all(ACCEPT).iter();
    let mut accepts = accepts.map(|value| value.as_bytes().to_ascii_lowercase());
    let stream = b"text/event-stream";
    headers.contains_key(UPGRADE)
        || accepts.any(|value| value.windows(stream.len()).any(|part| part == stream))
}

fn is_there<T: Clone + Send + Sync + 'static>(extensions: &Extensions) -> bool {
    extensions.get::<T>().is_some()
}

/// A value of any type that can be compared with one of its own type.
#[derive(Clone)]
struct Value(Arc<dyn Comparable>);

impl Value {
    fn new<T: Hash + Eq + Clone + Send + Sync + 'static>(value: &T) -> Self {
        Self(Arc::new(value.clone()))
    }
}

trait Comparable: Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_to(&self, hasher: &mut dyn Hasher);
    fn any(&self) -> &dyn Any;
}

impl<T: Hash + Eq + Send + Sync + 'static> Comparable for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn hash_to(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        (*self.0).equals((*other.0).any())
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (*self.0).hash_to(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(url: &str) -> Request {
        Request::new(Method::GET, url.parse().unwrap())
    }

    fn key(request: &Request) -> Key {
        Rules::new().key(request, &Extensions::new()).unwrap()
    }

    #[test]
    fn debug_shows_no_secret() {
        let mut request = get("https://ada:pw@api.example.com/a/b?key=secret#f");
        let token = HeaderValue::from_static("Bearer secret");
        request.headers_mut().insert("authorization", token);
        assert_eq!(format!("{:?}", key(&request)), "GET api.example.com/a/b");
    }

    #[test]
    fn the_order_of_headers_of_different_names_is_of_no_matter_and_that_of_one_name_is() {
        let with = |headers: &[(&'static str, &'static str)]| {
            let mut request = get("https://api.example.com");
            for (name, value) in headers {
                let value = HeaderValue::from_static(value);
                request.headers_mut().append(*name, value);
            }
            key(&request)
        };
        assert_eq!(
            with(&[("a", "1"), ("b", "2")]),
            with(&[("b", "2"), ("a", "1")])
        );
        assert_ne!(
            with(&[("a", "1"), ("a", "2")]),
            with(&[("a", "2"), ("a", "1")])
        );
        assert_ne!(
            with(&[("a", "1"), ("b", "")]),
            with(&[("a", ""), ("b", "1")])
        );
    }

    #[test]
    fn extensions_of_different_types_are_never_the_same() {
        #[derive(Clone, Hash, PartialEq, Eq)]
        struct Tenant(u32);
        #[derive(Clone, Hash, PartialEq, Eq)]
        struct User(u32);
        let mut rules = Rules::new();
        rules.key_by::<Tenant>();
        rules.key_by::<User>();
        let request = get("https://api.example.com");
        let (mut tenant, mut user) = (Extensions::new(), Extensions::new());
        tenant.insert(Tenant(1));
        user.insert(User(1));
        let (of_tenant, of_user) = (rules.key(&request, &tenant), rules.key(&request, &user));
        assert!(of_tenant.is_some() && of_user.is_some());
        assert!(of_tenant != of_user);
        assert!(of_tenant == rules.key(&request, &tenant));
        assert!(of_tenant != rules.key(&request, &Extensions::new()));
    }

    #[test]
    fn what_is_not_known_goes_alone() {
        let mut extensions = Extensions::new();
        extensions.insert(1_u8);
        let request = get("https://api.example.com");
        let mut rules = Rules::new();
        assert!(rules.key(&request, &extensions).is_none());
        rules.pass_over::<u8>();
        assert!(rules.key(&request, &extensions) == Some(key(&request)));
        extensions.insert(Alone);
        assert!(rules.key(&request, &extensions).is_none());
    }

    #[test]
    fn a_rule_that_is_made_twice_makes_nothing_else_known() {
        let request = get("https://api.example.com");
        let ada = || {
            let mut extensions = Extensions::new();
            extensions.insert(Identity::new().user("ada"));
            extensions
        };
        let mut rules = Rules::new();
        rules.key_by::<Identity>();
        rules.key_by::<Identity>();
        let (mut alone, mut unknown) = (ada(), ada());
        alone.insert(Alone);
        unknown.insert(1_u8);
        assert!(rules.key(&request, &alone).is_none());
        assert!(rules.key(&request, &unknown).is_none());
        assert!(rules.key(&request, &ada()) != Some(key(&request)));
        assert!(rules.key(&request, &ada()).is_some());
    }

    #[test]
    fn the_last_rule_for_a_type_is_the_one_that_counts() {
        let request = get("https://api.example.com");
        let mut extensions = Extensions::new();
        extensions.insert(1_u8);
        let mut rules = Rules::new();
        rules.key_by::<u8>();
        rules.pass_over::<u8>();
        assert!(rules.key(&request, &extensions) == Some(key(&request)));
        rules.key_by::<u8>();
        let keyed = rules.key(&request, &extensions);
        assert!(keyed.is_some() && keyed != Some(key(&request)));
    }
}
