//! What to try while the program keeps running.

use crate::console::say;
use crate::database::Home;
use crate::sns::Sns;

/// The curl lines, and what each of them leads to.
pub(crate) fn curl(api: &str) {
    let json = "-H 'content-type: application/json'";
    say!("Try, in another terminal:");
    say!();
    say!("  # 201, and orders.order_placed arrives below");
    say!("  curl -i {api}/orders {json} -H 'x-correlation-id: my-order' \\");
    say!(r#"    -d '{{"customer":"ann","sku":"cup","quantity":2,"total":1800}}'"#);
    say!();
    say!("  # 200, and orders.repriced arrives (take the id from the answer above)");
    say!(r#"  curl -i -X PATCH {api}/orders/1 {json} -d '{{"total":1500}}'"#);
    say!();
    say!("  # 204, and orders.cancelled arrives");
    say!("  curl -i -X DELETE {api}/orders/1");
    say!();
    say!("  # 409: rolled back after the order and its event were written, so nothing arrives");
    say!("  curl -i {api}/orders {json} \\");
    say!(r#"    -d '{{"customer":"ann","sku":"sold-out","quantity":1,"total":100}}'"#);
    say!();
}

/// The command that starts a worker of its own beside this program.
pub(crate) fn worker(home: &Home, sns: &Sns) {
    say!("No worker runs: what is committed waits in the outbox. Start one beside, any time:");
    say!();
    if home.is_temporary() {
        say!("  DATABASE_URL='{}' \\", home.url());
    } else {
        // It may hold a password, so it is not repeated here.
        say!("  DATABASE_URL=\"$DATABASE_URL\" \\");
    }
    sns.variables().iter().for_each(|variables| say!("  {variables} \\"));
    say!("  cargo run -p outbox-worker -- run");
    say!();
}
