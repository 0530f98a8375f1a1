//! What the server promises, through real requests.

mod client;
mod documents;
mod load;
mod loading;
mod reacting;
mod recording;
mod support;
mod watches;
mod writes;
