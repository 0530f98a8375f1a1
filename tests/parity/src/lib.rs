//! One set of scenarios for the real API server and the fake one, which must give the same answers.
//!
//! A [`Scenario`] is a sentence and a list of HTTP requests. [`compare`](compare::compare_by) sends them to two
//! [`Target`]s, replaces what is random in the answers (uids, times, resource versions) with names, and reports
//! every field that is not equal. The differences that are accepted are listed, with their reasons, in
//! [`differences`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`scenario`] | requests and watches, written tersely |
//! | [`scenarios`] | the scenarios, one file for each topic |
//! | [`sequences`] | random sequences of requests |
//! | [`garbage`] | random requests that make little sense |
//! | [`random`] | runs what is random, and makes it smaller when it fails |
//! | [`kinds`] | the custom resources that scenarios share |
//! | [`target`] | the two servers |
//! | [`run`] | sends a scenario's requests and writes down the answers |
//! | [`compare`] | runs scenarios on both servers and reports differences |
//! | [`normal`] | replaces what is random in answers |
//! | [`diff`] | compares answers field by field |
//! | [`differences`] | the accepted differences |

pub mod compare;
pub mod diff;
pub mod differences;
pub mod garbage;
pub mod kinds;
pub mod normal;
pub mod random;
pub mod run;
pub mod scenario;
pub mod scenarios;
pub mod sequences;
pub mod target;

pub use self::{scenario::Scenario, target::Target};
