//! What a flight does, once it knows what the store has.

use super::known::{Means, Phase, State};
use super::renewal::Renewal;
use crate::token::doubt::Doubt;
use crate::token::failure::Failure;
use crate::token::pair::{Pair, Version};
use crate::token::schedule::Stage;
use crate::token::slot::Limits;
use std::time::{Duration, Instant};

/// What a flight is to do, once it knows what the store has.
pub(in crate::token) enum Plan<E> {
    Send(Ask),
    Fail(Failure<E>),
    /// Another has sent the refresh token, and may be waiting for its answer for so long.
    Wait(Duration),
    /// There is nothing to be sent, and will not be: the version has ended.
    End(Version, Failure<E>),
}

/// A request to be sent.
pub(in crate::token) struct Ask {
    pub(in crate::token) version: Version,
    pub(in crate::token) pair: Option<Pair>,
    /// It was sent before, and has no answer.
    pub(in crate::token) doubt: Option<Doubt>,
}

impl<E> State<E> {
    /// What a flight is to do with what is known now. Past the grace a token in doubt is sent only if there is nothing to lose (R3);
    /// and one that others have sent is not while they may get their answer, unless this flight `leads` and they are gone.
    pub(in crate::token) fn plan(&self, now: Instant, limits: &Limits, leads: bool) -> Plan<E> {
        let held = match &self.phase {
            Phase::Held(held) => held,
            Phase::Out { version, why, .. } => {
                return match self.means {
                    Means::Refresh => Plan::Fail(why.clone()),
                    Means::Mint => Plan::Send(Ask {
                        version: *version,
                        pair: None,
                        doubt: None,
                    }),
                };
            }
            Phase::Unknown => return Plan::Fail(Failure::logged_out()),
        };
        if let Renewal::Ended { why, .. } = &self.renewal {
            return Plan::Fail(why.clone());
        }
        if held.pair.refresh().is_none() && self.means == Means::Refresh {
            return Plan::End(held.version, Failure::no_refresh_token());
        }
        if let Some(doubt) = &held.doubt {
            // A request is part of a flight, and lasts no longer, whatever it may.
            let up = doubt.left(limits.answer.min(limits.flight), now);
            if doubt.is_of_others() && !leads && !up.is_zero() {
                return Plan::Wait(up);
            }
            if doubt.left(limits.grace, now).is_zero() && held.stage(now) != Stage::Over {
                return Plan::Fail(Failure::in_doubt());
            }
        }
        Plan::Send(Ask {
            version: held.version,
            pair: Some(held.pair.clone()),
            doubt: held.doubt,
        })
    }
}
