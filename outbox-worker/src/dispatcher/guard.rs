//! Code of the application's that runs within the loop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps a panic of such code from ending the loop, and with it all sending.
#[derive(Debug)]
pub(super) struct Guard {
    what: &'static str,
    panicked: AtomicBool,
}

impl Guard {
    pub(super) const fn of(what: &'static str) -> Self {
        Self { what, panicked: AtomicBool::new(false) }
    }

    /// What the code returns, or nothing if it panics. That is said once: it may well do so each time.
    pub(super) fn call<T>(&self, code: impl FnOnce() -> T) -> Option<T> {
        let answer = catch_unwind(AssertUnwindSafe(code)).ok();
        if answer.is_none() && !self.panicked.swap(true, Ordering::Relaxed) {
            let what = self.what;
            tracing::error!(what, "code of the application panicked: sending goes on without it");
        }
        answer
    }
}

/// One for each kind of such code.
#[derive(Debug)]
pub(super) struct Guards {
    pub(super) metrics: Guard,
    pub(super) retry: Guard,
    pub(super) traces: Guard,
}

impl Guards {
    pub(super) const fn new() -> Self {
        Self {
            metrics: Guard::of("metrics"),
            retry: Guard::of("retry policy"),
            traces: Guard::of("trace link"),
        }
    }
}
