//! What a process writes, kept so that a test can await a line and show them all.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::watch;

/// The lines that a process has written so far. Clones share them.
#[derive(Clone, Debug)]
pub struct Output {
    written: Arc<watch::Sender<Written>>,
}

#[derive(Debug, Default)]
struct Written {
    lines: Vec<String>,
    ended: bool,
}

impl Output {
    /// Reads beside the test, because a process whose pipe is full stands still.
    pub(crate) fn of(pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let written = Arc::new(watch::Sender::<Written>::default());
        let output = Self { written: Arc::clone(&written) };
        tokio::spawn(async move {
            let mut lines = BufReader::new(pipe).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                written.send_modify(|written| written.lines.push(line));
            }
            written.send_modify(|written| written.ended = true);
        });
        output
    }

    /// All of it.
    pub fn text(&self) -> String {
        self.written.borrow().lines.join("\n")
    }

    /// The first line with this text, whether it was written before this call or comes after it.
    pub async fn until(&self, text: &str, patience: Duration) -> String {
        let found = |written: &Written| written.lines.iter().any(|line| line.contains(text));
        self.wait(patience, |written| found(written) || written.ended).await;
        let written = self.written.borrow();
        let line = written.lines.iter().find(|line| line.contains(text)).cloned();
        drop(written);
        assert!(line.is_some(), "no line with `{text}` in:\n{}", self.text());
        line.unwrap_or_default()
    }

    /// All of it, once the process has closed it.
    pub async fn to_the_end(&self, patience: Duration) -> String {
        self.wait(patience, |written| written.ended).await;
        self.text()
    }

    async fn wait(&self, patience: Duration, reached: impl FnMut(&Written) -> bool) {
        let mut written = self.written.subscribe();
        // Whoever waits looks at what there is, also if it took too long.
        let _ = tokio::time::timeout(patience, written.wait_for(reached)).await;
    }
}
