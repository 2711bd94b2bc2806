//! An authorization server that rotates refresh tokens, and the API that trusts it.
//!
//! ```text
//!   POST /token            redeems a refresh token; one that was redeemed already ends the login
//!   GET  /led-on?URL       a redirect (302) to the URL; POST: 303
//!   any  /led-on-with-all?URL  a redirect that keeps method and body (307)
//!   POST /orders?…         takes an order, and leads on (303) to where it came; GET: as any other path
//!   any  /never            401, whoever asks
//!   any  /late           as the next line, but later
//!   any  other path        200 with the newest access token, 401 otherwise
//! ```

use crate::server::{Asked, Gate, answer, broken_off, serve};
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, StatusCode};
use oneflight::token::Grant;
use reqwest::Url;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What goes wrong with a redemption.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is carried out, and the connection closed before the answer is out.
    Lost,
    /// It is not carried out, and this is the answer.
    Instead(
        StatusCode,
        &'static [(&'static str, &'static str)],
        &'static str,
    ),
    /// It is carried out, and this is the answer.
    Garbled(StatusCode, &'static str),
}

#[derive(Clone, Debug)]
pub(crate) struct Authority {
    books: Arc<Mutex<Books>>,
    /// Holds up redemptions.
    pub(crate) desk: Gate,
    /// Holds up requests for `/late`.
    pub(crate) late: Gate,
    pub(crate) url: Url,
}

#[derive(Debug, Default)]
struct Books {
    issued: u32,
    /// The access token that is good.
    good: Option<String>,
    /// What each refresh token was redeemed for.
    spent: HashMap<String, u32>,
    /// A refresh token that was redeemed is taken again, for the same pair.
    lenient: bool,
    /// Without a new refresh token the old one stays.
    keeps: bool,
    ended: bool,
    seen: Vec<Asked>,
    redemptions: Vec<Asked>,
    redeemed: u32,
    revoked: u32,
    faults: VecDeque<Fault>,
    challenges: Vec<&'static str>,
}

impl Authority {
    pub(crate) async fn start() -> Self {
        let books = Arc::new(Mutex::new(Books::default()));
        books.lock().unwrap().challenges = vec!["Bearer error=\"invalid_token\""];
        let (desk, late) = (Gate::open(), Gate::open());
        let at = (books.clone(), desk.clone(), late.clone());
        let url = serve(move |asked| {
            let (books, desk, late) = at.clone();
            async move {
                if asked.path == "/token" {
                    desk.pass().await;
                    books.lock().unwrap().redeem(asked)
                } else {
                    if asked.path == "/late" {
                        late.pass().await;
                    }
                    books.lock().unwrap().answer(asked)
                }
            }
        })
        .await;
        Self {
            books,
            desk,
            late,
            url,
        }
    }

    pub(crate) fn at(&self, path: &str) -> Url {
        self.url.join(path).unwrap()
    }

    pub(crate) fn login(&self) -> Grant {
        let mut books = self.books();
        books.issued += 1;
        let (access, refresh) = names(books.issued);
        books.good = Some(access.clone());
        Grant::new(access).refresh(refresh)
    }

    /// The access token that is there is good no more.
    pub(crate) fn expire(&self) {
        self.books().good = None;
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.books().faults.push_back(fault);
    }

    pub(crate) fn be_lenient(&self) {
        self.books().lenient = true;
    }

    pub(crate) fn keep_refresh_tokens(&self) {
        self.books().keeps = true;
    }

    pub(crate) fn challenge(&self, challenges: &[&'static str]) {
        self.books().challenges = challenges.to_vec();
    }

    /// What the API was asked, of this path.
    pub(crate) fn seen(&self, path: &str) -> Vec<Asked> {
        let books = self.books();
        let seen = books.seen.iter().filter(|asked| asked.path == path);
        seen.cloned().collect()
    }

    /// Waits until the API was asked so often, and forgets what it was asked.
    pub(crate) async fn was_asked(&self, often: usize) {
        while self.books().seen.len() < often {
            tokio::task::yield_now().await;
        }
        self.books().seen.clear();
    }

    /// All requests for a redemption.
    pub(crate) fn redemptions(&self) -> Vec<Asked> {
        self.books().redemptions.clone()
    }

    pub(crate) fn redeemed(&self) -> u32 {
        self.books().redeemed
    }

    /// How often a refresh token came that had been redeemed.
    pub(crate) fn revoked(&self) -> u32 {
        self.books().revoked
    }

    fn books(&self) -> std::sync::MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }
}

fn names(number: u32) -> (String, String) {
    (format!("access-{number}"), format!("refresh-{number}"))
}

/// A value of a form.
pub(crate) fn field(asked: &Asked, name: &str) -> Option<String> {
    let form = format!("http://form/?{}", String::from_utf8_lossy(&asked.body));
    let form: Url = form.parse().unwrap();
    let mut pairs = form.query_pairs();
    let found = pairs.find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

impl Books {
    fn redeem(&mut self, asked: Asked) -> Response {
        let token = field(&asked, "refresh_token").unwrap_or_default();
        self.redemptions.push(asked);
        let fault = self.faults.pop_front();
        if let Some(Fault::Instead(status, headers, text)) = fault {
            let mut response = answer(status, text);
            for (name, value) in headers {
                let value = HeaderValue::from_static(value);
                response.headers_mut().insert(*name, value);
            }
            return response;
        }
        let Some(number) = self.spend(token) else {
            let error = r#"{"error":"invalid_grant","error_description":"reused"}"#;
            return answer(StatusCode::BAD_REQUEST, error);
        };
        match fault {
            Some(Fault::Lost) => broken_off(),
            Some(Fault::Garbled(status, text)) => answer(status, text),
            _ => self.granted(number),
        }
    }

    fn spend(&mut self, token: String) -> Option<u32> {
        if let Some(&number) = self.spent.get(&token) {
            if self.lenient && !self.ended {
                return Some(number);
            }
            self.ended = true;
            self.revoked += 1;
        }
        if self.ended || !token.starts_with("refresh-") {
            return None;
        }
        self.issued += 1;
        self.redeemed += 1;
        self.good = Some(names(self.issued).0);
        if !self.keeps {
            self.spent.insert(token, self.issued);
        }
        Some(self.issued)
    }

    fn granted(&self, number: u32) -> Response {
        let (access, refresh) = names(number);
        let refresh = if self.keeps {
            String::new()
        } else {
            format!(r#","refresh_token":"{refresh}""#)
        };
        let text = format!(
            r#"{{"access_token":"{access}","token_type":"Bearer","expires_in":3600{refresh}}}"#
        );
        let mut response = answer(StatusCode::OK, text);
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }

    fn answer(&mut self, asked: Asked) -> Response {
        let response = match asked.path.split_once('?') {
            Some(("/led-on", to)) => led_on(moved(&asked.method), to),
            Some(("/led-on-with-all", to)) => led_on(StatusCode::TEMPORARY_REDIRECT, to),
            Some(("/orders", _)) if asked.method == Method::POST => {
                led_on(StatusCode::SEE_OTHER, &asked.path)
            }
            _ if asked.path == "/never" => self.refusal(),
            _ if asked.bearer().is_some() && asked.bearer() == self.good.as_deref() => {
                answer(StatusCode::OK, Body::from(asked.path.clone()))
            }
            _ => self.refusal(),
        };
        self.seen.push(asked);
        response
    }

    fn refusal(&self) -> Response {
        let mut response = answer(StatusCode::UNAUTHORIZED, "who are you?");
        for challenge in &self.challenges {
            let value = HeaderValue::from_static(challenge);
            response.headers_mut().append(WWW_AUTHENTICATE, value);
        }
        response
    }
}

fn moved(method: &Method) -> StatusCode {
    if *method == Method::POST {
        StatusCode::SEE_OTHER
    } else {
        StatusCode::FOUND
    }
}

fn led_on(status: StatusCode, to: &str) -> Response {
    let mut response = answer(status, "");
    let to = HeaderValue::try_from(to).unwrap();
    response.headers_mut().insert(LOCATION, to);
    response
}

/// As long as no test may take: what hangs is found out by this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
