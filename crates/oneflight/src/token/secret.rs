//! A secret: shown to nobody who does not ask for it by name, and gone from memory with its last owner (R6).

use crate::sync::Arc;
use std::fmt;
use zeroize::Zeroizing;

/// A text that must not be seen: an access token, a refresh token.
///
/// Its memory is overwritten with zeros when the last clone is dropped; clones share it. `Debug` shows nothing of it, there is no
/// `Display` and no `PartialEq`. What is copied out of [`expose`](Self::expose) is on its own.
///
/// # Examples
/// ```
/// use oneflight::token::Secret;
///
/// let secret = Secret::new("kept to ourselves".to_owned());
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// assert_eq!(secret.expose(), "kept to ourselves");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// A secret in the memory that `text` has: nothing is copied.
    pub fn new(text: String) -> Self {
        Self(Arc::new(Zeroizing::new(text)))
    }

    /// The text, for the one who sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
