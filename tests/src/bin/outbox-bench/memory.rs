//! How much memory the worker binary takes while it sends a backlog to SNS.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use outbox_testing::sns::SnsStub;
use tokio::process::{Child, Command};

use crate::backlog::{self, Events, Lanes};
use crate::figure::Figure;
use crate::{Done, MemoryOptions, session};

const ARN_PREFIX: &str = "arn:aws:sns:us-east-1:000000000000:";

/// Runs the binary beside this one until it is idle.
pub(crate) async fn measure(url: &str, options: MemoryOptions) -> Done<Vec<Figure>> {
    let db = session::application(url, 2).await?;
    outbox_migration::migrate(&db).await?;
    let pool = db.get_postgres_connection_pool();
    let events = Events { count: options.events, bytes: options.bytes };
    backlog::fill(pool, "outbox_message", events, Lanes::All).await?;
    let stub = SnsStub::start().await?;
    create_topic(&stub).await?;
    let begun = Instant::now();
    let peak = peak_of(start(url, &stub)?).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let left: i64 =
        sea_orm::sqlx::query_scalar("SELECT count(*) FROM outbox_message").fetch_one(pool).await?;
    let accepted = stub.journal().len();
    if left != 0 || accepted != options.events as usize {
        return Err(format!("{accepted} events were accepted and {left} are left").into());
    }
    let rate = f64::from(options.events) / seconds;
    Ok(vec![Figure::new("peak_mib", "MiB", vec![peak]), Figure::new("rate", "ev/s", vec![rate])])
}

/// One that takes as much in a message as SNS can.
async fn create_topic(stub: &SnsStub) -> Done<()> {
    let request = [
        ("Action", "CreateTopic"),
        ("Name", "orders"),
        ("Attributes.entry.1.key", "MaximumMessageSize"),
        ("Attributes.entry.1.value", "1048576"),
    ];
    let request = request.map(|(name, value)| format!("{name}={value}")).join("&");
    let form = "application/x-www-form-urlencoded";
    let call = reqwest::Client::new().post(stub.endpoint_url()).header("content-type", form);
    call.body(request).send().await?.error_for_status()?;
    Ok(())
}

fn start(url: &str, stub: &SnsStub) -> Done<Child> {
    let child = Command::new(worker()?)
        .args(["run", "--until-idle"])
        .env_clear()
        .env("DATABASE_URL", url)
        .env("AWS_ENDPOINT_URL_SNS", stub.endpoint_url())
        .env("AWS_ACCESS_KEY_ID", "bench")
        .env("AWS_SECRET_ACCESS_KEY", "bench")
        .env("AWS_REGION", "us-east-1")
        .env("OUTBOX_SNS__TOPIC_ARN_PREFIX", ARN_PREFIX)
        .env("OUTBOX_SNS__LIMIT", "1048576")
        .env("OUTBOX_LOG__FILTER", "warn")
        .kill_on_drop(true)
        .spawn()?;
    Ok(child)
}

fn worker() -> Done<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("outbox-worker");
    if !path.exists() {
        return Err("outbox-worker is not built: cargo build --release -p outbox-worker".into());
    }
    Ok(path)
}

/// The most memory that was resident, as the kernel remembers it, in MiB.
async fn peak_of(mut child: Child) -> Done<f64> {
    let status = format!("/proc/{}/status", child.id().ok_or("the worker has ended")?);
    let mut peak = 0.0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        peak = kib.map_or(peak, |kib| kib / 1024.0);
        let Ok(ended) = tokio::time::timeout(Duration::from_millis(10), child.wait()).await else {
            continue;
        };
        return if ended?.success() { Ok(peak) } else { Err("the worker failed".into()) };
    }
}
