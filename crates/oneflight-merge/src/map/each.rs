//! Lists: the elements that a record with `each` is made for.
//!
//!   { drivers: [a, b] } ──each──▶ At(a) ─^─▶ row        a[*].b: each `a` is a level of its own, so that `^` is it, `^^` the row

use super::path::{Each, Step, To};
use super::values::{At, Context, Fault, Here, Raw, Up, is_null, omitted, omitted_member};
use crate::rows::Scope;
use serde_json::Value as Json;
use std::borrow::Cow;

impl<'a> Context<'a> {
    /// Calls `with` for each element of a list; nulls are no elements.
    pub(crate) fn each(
        &self,
        each: &'a Each,
        null: &[String],
        at: &At<'_, 'a>,
        with: &mut dyn FnMut(&At<'_, 'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let steps: &[Step] = match &each.path.to {
            To::Within { steps, .. } => steps,
            To::Here | To::Special(_) => &[],
        };
        let walk = Walk {
            split: each.split.as_deref(),
            null,
            line: at.line,
        };
        let special = matches!(each.path.to, To::Special(_));
        match at.climb(each.path.up) {
            Some(Here::Json(json)) if !special => walk.elements(json, steps, at, with),
            Some(Here::Scope(scope)) if !special => match omitted_member(scope, steps) {
                Some(member) => Err(omitted(&each.path.text, member)),
                None => walk.scope(scope, steps, at, with),
            },
            _ => match self.raw(&each.path, at) {
                Raw::Text(Cow::Borrowed(text)) => {
                    texts(text, each.split.as_deref(), null, at, with)
                }
                _ => Ok(()),
            },
        }
    }
}

/// Walks to the elements of a list in a nested value.
struct Walk<'w> {
    split: Option<&'w str>,
    null: &'w [String],
    line: u64,
}

impl Walk<'_> {
    /// What encloses rows stays what it is where it is an element itself, so that what it omits is known to paths within.
    fn scope<'a>(
        &self,
        scope: &'a Scope,
        steps: &[Step],
        up: &At<'_, 'a>,
        with: &mut dyn FnMut(&At<'_, 'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let is_element = steps.iter().all(|step| matches!(step, Step::All));
        if !is_element || !scope.value.is_object() {
            return self.elements(&scope.value, steps, up, with);
        }
        with(&At {
            line: self.line,
            here: Here::Scope(scope),
            up: Up::At(up),
        })
    }

    fn elements<'a>(
        &self,
        json: &'a Json,
        steps: &[Step],
        up: &At<'_, 'a>,
        with: &mut dyn FnMut(&At<'_, 'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some((step, rest)) = steps.split_first() else {
            return self.leaf(json, up, with);
        };
        match (step, json) {
            (Step::Member(name), Json::Object(members)) => members
                .get(name)
                .map_or(Ok(()), |json| self.elements(json, rest, up, with)),
            (Step::Index(index), Json::Array(array)) => array
                .get(*index)
                .map_or(Ok(()), |json| self.elements(json, rest, up, with)),
            (Step::All, Json::Array(array)) => array.iter().try_for_each(|json| {
                let at = At {
                    line: self.line,
                    here: Here::Json(json),
                    up: Up::At(up),
                };
                // The last list is one of elements itself, and must not be a level of its own.
                if rest.is_empty() {
                    self.leaf(json, up, with)
                } else {
                    self.elements(json, rest, &at, with)
                }
            }),
            // A value that is no list counts as a list of itself.
            (Step::All, json) => self.elements(json, rest, up, with),
            (Step::Deep(name), json) => self.deep(json, name, rest, up, with),
            _ => Ok(()),
        }
    }

    fn deep<'a>(
        &self,
        json: &'a Json,
        name: &str,
        rest: &[Step],
        up: &At<'_, 'a>,
        with: &mut dyn FnMut(&At<'_, 'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        match json {
            Json::Object(members) => members.iter().try_for_each(|(member, json)| {
                if member == name {
                    self.elements(json, rest, up, with)
                } else {
                    self.deep(json, name, rest, up, with)
                }
            }),
            Json::Array(array) => array
                .iter()
                .try_for_each(|json| self.deep(json, name, rest, up, with)),
            _ => Ok(()),
        }
    }

    fn leaf<'a>(
        &self,
        json: &'a Json,
        up: &At<'_, 'a>,
        with: &mut dyn FnMut(&At<'_, 'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        match json {
            Json::Null => Ok(()),
            Json::Array(array) => array.iter().try_for_each(|json| self.leaf(json, up, with)),
            Json::String(text) => texts(text, self.split, self.null, up, with),
            _ => with(&At {
                line: self.line,
                here: Here::Json(json),
                up: Up::At(up),
            }),
        }
    }
}

/// Calls `with` for each text between the separators that is not null.
fn texts<'a>(
    text: &'a str,
    split: Option<&str>,
    null: &[String],
    up: &At<'_, 'a>,
    with: &mut dyn FnMut(&At<'_, 'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut one = |text: &'a str| {
        let text = text.trim();
        if text.is_empty() || is_null(text, null) {
            return Ok(());
        }
        with(&At {
            line: up.line,
            here: Here::Text(text),
            up: Up::At(up),
        })
    };
    match split {
        Some(split) => text.split(split).try_for_each(one),
        None => one(text),
    }
}
