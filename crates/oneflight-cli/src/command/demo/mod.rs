//! `oneflight demo`: what the program is for, on one screen.
//!
//!   league (made up) ─▶ files (two providers, and the truth) ─▶ folder ─▶ merge, merge again, audit ─▶ compared with the truth
//!
//! The demo does what anybody could type: it calls the same functions as the commands that it prints.

mod check;
mod files;
mod folder;
mod league;
mod run;

pub(crate) use run::command;
