//! The model of the protocol: checked in every order of events, and against the store in memory.

mod claims;
mod equality;
mod exhaustive;
mod freed;
mod history;
mod mirror;
mod model;
mod mutants;
