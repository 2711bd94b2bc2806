//! What a batch function may return, and what becomes of it.

use crate::error::Error;
use std::collections::HashMap;
use std::hash::BuildHasher;

/// Answers for some of the keys of a batch; or the error for all of them.
type Answers<K, V, E> = Result<Vec<(K, Result<Option<V>, E>)>, E>;

/// What a batch function may return: answers for the keys that it knows.
///
/// A key that is left out has no value: those who wait for it get `Ok(None)`. Keys that were not asked for are ignored, and of a
/// key that comes twice the first counts. An `Err` for the whole batch is shared by everybody who waits for any of its keys.
///
/// | type | when |
/// |---|---|
/// | `Vec<(K, V)>`, `HashMap<K, V>` | what is not there is left out |
/// | `Vec<(K, Option<V>)>` | what is not there is said to be |
/// | `Vec<(K, Result<V, E>)>` | one bad key fails alone |
/// | `Result<any of these, E>` | the whole batch may fail |
pub trait IntoAnswers<K, V, E> {
    /// The answers, in any order; best in the order of the keys, which is the cheapest.
    ///
    /// # Errors
    /// The error for all the keys, if the batch failed as a whole.
    fn into_answers(self) -> Answers<K, V, E>;
}

impl<K, V, E> IntoAnswers<K, V, E> for Vec<(K, V)> {
    fn into_answers(self) -> Answers<K, V, E> {
        Ok(self
            .into_iter()
            .map(|(key, value)| (key, Ok(Some(value))))
            .collect())
    }
}

impl<K, V, E> IntoAnswers<K, V, E> for Vec<(K, Option<V>)> {
    fn into_answers(self) -> Answers<K, V, E> {
        Ok(self
            .into_iter()
            .map(|(key, value)| (key, Ok(value)))
            .collect())
    }
}

impl<K, V, E> IntoAnswers<K, V, E> for Vec<(K, Result<V, E>)> {
    fn into_answers(self) -> Answers<K, V, E> {
        Ok(self
            .into_iter()
            .map(|(key, result)| (key, result.map(Some)))
            .collect())
    }
}

impl<K, V, E, S: BuildHasher> IntoAnswers<K, V, E> for HashMap<K, V, S> {
    fn into_answers(self) -> Answers<K, V, E> {
        Ok(self
            .into_iter()
            .map(|(key, value)| (key, Ok(Some(value))))
            .collect())
    }
}

impl<K, V, E, A: IntoAnswers<K, V, E>> IntoAnswers<K, V, E> for Result<A, E> {
    fn into_answers(self) -> Answers<K, V, E> {
        self?.into_answers()
    }
}

/// What a batch came to, shared by all who waited for it.
pub(super) enum Landing<V, E> {
    /// An answer for each key, in the order in which they were sent.
    Each(Vec<Result<Option<V>, Error<E>>>),
    /// The same for all.
    All(Error<E>),
}

impl<V: Clone, E> Landing<V, E> {
    /// The answer for the key in this place.
    pub(super) fn answer(&self, place: u32) -> Result<Option<V>, Error<E>> {
        match self {
            Self::Each(answers) => answers[place as usize].clone(),
            Self::All(error) => Err(error.clone()),
        }
    }
}
