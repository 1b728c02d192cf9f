use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};

/// The system's time plus what the test moved it by.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    ahead: Mutex<Duration>,
}

impl Clock {
    pub(crate) fn advance(&self, by: Duration) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        *ahead = ahead.saturating_add(by);
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        let ahead = *self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        chrono::Duration::from_std(ahead)
            .ok()
            .and_then(|ahead| Utc::now().checked_add_signed(ahead))
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}
