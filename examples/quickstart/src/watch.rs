//! Shows what arrives, one line per message.

use std::sync::Arc;

use outbox_worker::CancellationToken;
use tokio::task::JoinHandle;

use crate::console::say;
use crate::sns::Sns;

/// Watches an SNS topic beside whatever else goes on.
pub(crate) struct Watch {
    stop: CancellationToken,
    showing: JoinHandle<()>,
}

impl Watch {
    pub(crate) fn start(sns: &Arc<Sns>) -> Self {
        let (sns, stop) = (Arc::clone(sns), CancellationToken::new());
        let until = stop.clone();
        let showing = tokio::spawn(async move { show(&sns, until).await });
        Self { stop, showing }
    }

    /// Ends when all is shown that has arrived.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        Ok(self.showing.await?)
    }
}

async fn show(sns: &Sns, stop: CancellationToken) {
    let mut shown = 0;
    loop {
        // Asked before looking, so that the last look comes after the stop.
        let last = stop.is_cancelled();
        let accepted = tokio::select! {
            accepted = sns.accepted_at_least(shown + 1) => accepted,
            () = stop.cancelled() => sns.accepted(),
        };
        if shown == 0 && !accepted.is_empty() {
            say!("  {:<19}  {:<12}  {:>5}  correlation id", "event", "id", "order");
        }
        accepted.iter().skip(shown).for_each(|arrival| say!("{arrival}"));
        shown = accepted.len();
        if last {
            return;
        }
    }
}
