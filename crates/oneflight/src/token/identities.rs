//! A source for each identity, so that no user ever gets the token of another.

use super::source::TokenSource;
use crate::hash::RandomState;
use crate::sync::{Arc, Mutex};
use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::error::Error as StdError;
use std::fmt;
use std::hash::Hash;

/// So many identities a [`Tokens`] has at most, unless it is told otherwise.
const IDENTITIES: usize = 65_536;

/// Whose token it is, and what for: tenant, user, audience and scopes. Two that differ in any of them never share a token.
///
/// Scopes are a set: their order is of no matter, and the one that was asked for is meant, not the one that was granted.
///
/// # Examples
/// ```
/// use oneflight::token::Identity;
///
/// let ada = Identity::new().tenant("acme").user("ada").scopes(["read", "write"]);
/// assert_eq!(ada, Identity::new().tenant("acme").user("ada").scopes(["write", "read"]));
/// assert_ne!(ada, Identity::new().tenant("evil").user("ada").scopes(["read", "write"]));
/// assert_ne!(ada, Identity::new().tenant("acme").user("ada").scopes(["read"]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    tenant: Option<Arc<str>>,
    user: Option<Arc<str>>,
    audience: Option<Arc<str>>,
    scopes: BTreeSet<Arc<str>>,
}

impl Identity {
    /// Nobody in particular.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of this tenant.
    pub fn tenant(mut self, tenant: impl Into<Arc<str>>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Of this user.
    pub fn user(mut self, user: impl Into<Arc<str>>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// For this audience, or resource.
    pub fn audience(mut self, audience: impl Into<Arc<str>>) -> Self {
        self.audience = Some(audience.into());
        self
    }

    /// With these scopes, in the place of those it had.
    pub fn scopes<S: Into<Arc<str>>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }
}

/// A [`TokenSource`] for each identity, made when it is first asked for.
///
/// Each has its own store, flights and state: nothing is shared but what the function that makes them lets them share. Cloning is
/// cheap and gives the same sources.
///
/// # Examples
/// ```
/// use oneflight::Tokio;
/// use oneflight::token::{Grant, Identity, MemoryStore, TokenSource, Tokens};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let tokens: Tokens<Identity, std::io::Error> = Tokens::new(|identity: &Identity| {
///     let whose = format!("{identity:?}");
///     TokenSource::builder(Tokio, Tokio)
///         .store(MemoryStore::new())
///         .build_minting(move || {
///             let access = format!("access of {whose}");
///             async move { Ok(Grant::new(access)) }
///         })
/// });
/// let (ada, bob) = (Identity::new().user("ada"), Identity::new().user("bob"));
/// let token = tokens.source(&ada).unwrap().token().await.unwrap();
/// assert!(token.expose().contains("ada"));
/// assert_ne!(tokens.source(&bob).unwrap().token().await.unwrap().expose(), token.expose());
/// assert_eq!(tokens.len(), 2);
/// # }
/// ```
pub struct Tokens<I, E> {
    inner: Arc<Inner<I, E>>,
}

struct Inner<I, E> {
    make: Make<I, E>,
    sources: Mutex<HashMap<I, TokenSource<E>, RandomState>>,
    most: usize,
}

type Make<I, E> = Box<dyn Fn(&I) -> TokenSource<E> + Send + Sync>;

impl<I: Hash + Eq, E> Tokens<I, E> {
    /// No source yet; `make` makes one, and is to give it a store and a refresher of that identity alone.
    ///
    /// It is called under no lock. If two callers ask for the same identity for the first time, both may make a source, and one of
    /// the two is dropped before anybody has used it.
    pub fn new(make: impl Fn(&I) -> TokenSource<E> + Send + Sync + 'static) -> Self {
        Self::at_most(IDENTITIES, make)
    }

    /// As [`new`](Self::new), for so many identities at most.
    pub fn at_most(
        identities: usize,
        make: impl Fn(&I) -> TokenSource<E> + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                make: Box::new(make),
                sources: Mutex::new(HashMap::default()),
                most: identities,
            }),
        }
    }

    /// The source of this identity.
    ///
    /// # Errors
    /// There are as many as there may be ([`at_most`](Self::at_most)), and this one is not among them.
    pub fn source<Q>(&self, identity: &Q) -> Result<TokenSource<E>, Full>
    where
        I: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = I> + ?Sized,
    {
        let Inner {
            make,
            sources,
            most,
        } = &*self.inner;
        // LOCK: closed at the end of this statement; so is the next one.
        let there = sources.lock().get(identity).cloned();
        if let Some(source) = there {
            return Ok(source);
        }
        let identity = identity.to_owned();
        let made = make(&identity);
        let mut sources = sources.lock();
        if let Some(source) = sources.get(identity.borrow()) {
            return Ok(source.clone());
        }
        if sources.len() >= *most {
            drop(sources);
            return Err(Full(*most));
        }
        sources.insert(identity, made.clone());
        Ok(made)
    }

    /// Lets go of the source of this identity, and returns it. Its store keeps its pair: to end that,
    /// [`log_out`](TokenSource::log_out).
    pub fn remove<Q>(&self, identity: &Q) -> Option<TokenSource<E>>
    where
        I: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.inner.sources.lock().remove(identity)
    }

    /// How many identities there are.
    pub fn len(&self) -> usize {
        self.inner.sources.lock().len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<I, E> Clone for Tokens<I, E> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<I, E> fmt::Debug for Tokens<I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.inner.sources.lock().len();
        f.debug_struct("Tokens")
            .field("len", &len)
            .field("most", &self.inner.most)
            .finish_non_exhaustive()
    }
}

/// There are as many identities as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full(usize);

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there are tokens of {} identities, and no more may be added",
            self.0
        )
    }
}

impl StdError for Full {}
