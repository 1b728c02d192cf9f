//! Leasing, renewing, sharing and handing over lanes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Fleet, KeyRef, Lane, LaneLease, LaneState, LeaseRequest, LeaseTime, OutboxStore, Position,
    StoreError, WorkerCard,
};
use tokio::time::Instant;

use super::contact::Contact;
use super::desk::{Answer, Desk, Running, bounded};
use super::lane_window::LaneWindow;
use super::spans;
use crate::metrics::Measurement;

/// Failed records of one lane that keys wait for.
type Awaited = Vec<(KeyRef, Position)>;

/// What the loop asks of the next round.
#[derive(Clone, Debug)]
pub(super) struct TendPlan {
    card: WorkerCard,
    renew: Vec<LaneLease>,
    /// Failed records that keys wait for, by lane, and lanes with claimed ones: they may be gone by
    /// other hands.
    recheck: Vec<(LaneLease, Awaited)>,
    release: Vec<LaneLease>,
    /// Where each lane is read, before the heartbeat draws its stamp.
    cursors: Vec<(Lane, Position)>,
    /// Lanes that others shall have.
    given_up: Vec<Lane>,
    lease: LeaseTime,
    contact: Contact,
    /// Of one call.
    limit: Duration,
    /// Of all that follow the renewal.
    rest: Duration,
}

/// What a round achieved; an error ends it early and leaves the rest for the next one.
#[derive(Debug, Default)]
pub(super) struct Tended {
    renewed: Option<(Instant, Vec<LaneLease>)>,
    tried: Vec<LaneLease>,
    released: Vec<LaneLease>,
    cursors: Vec<(Lane, Position)>,
    fleet: Option<Fleet>,
    rechecked: Vec<(LaneLease, Awaited, LaneState)>,
    leased: Vec<(LaneLease, LaneState)>,
    leased_at: Option<Instant>,
    error: Option<StoreError>,
}

impl Desk {
    pub(super) fn is_tending(&self) -> bool {
        self.running.values().any(|running| matches!(running, Running::Tend(_)))
    }

    pub(super) fn start_tending(&mut self, now: Instant) {
        if now < self.tend_at || self.is_tending() {
            return;
        }
        let plan = self.plan();
        let store = Arc::clone(&self.parts.control);
        let work = round(store, plan.clone());
        let span = spans::tend(plan.renew.len());
        self.spawn(Running::Tend(Box::new(plan)), span, async {
            Answer::Tended(Box::new(work.await))
        });
    }

    fn plan(&self) -> TendPlan {
        let (release, renew): (Vec<_>, Vec<_>) =
            self.lanes.values().partition(|w| w.closing && w.unsettled == 0);
        let lacking = self.due_share().saturating_sub(count(renew.len()));
        let recheck =
            renew.iter().map(|window| (window.lease, window.awaited(), window.has_claims()));
        let recheck = recheck.filter(|(_, awaited, claims)| !awaited.is_empty() || *claims);
        TendPlan {
            card: WorkerCard {
                wants_lanes: (!self.draining).then_some(lacking),
                lacks: self.lacks(),
                ..self.parts.card.clone()
            },
            recheck: recheck.map(|(lease, awaited, _)| (lease, awaited)).collect(),
            renew: renew.into_iter().map(|window| window.lease).collect(),
            release: release.into_iter().map(|window| window.lease).collect(),
            cursors: self.cursors(),
            given_up: self.given_up.lanes(),
            lease: self.lease,
            contact: self.contact,
            limit: self.parts.settings.store_timeout.min(self.parts.settings.tend_interval()),
            rest: self.parts.settings.tend_interval(),
        }
    }

    /// Fewest lanes that it has a right to, but for those that it gave up.
    pub(super) fn due_share(&self) -> u8 {
        self.fleet.least().saturating_sub(self.given_up.count())
    }

    pub(super) fn take_tended(&mut self, tended: Tended) {
        for lease in &tended.released {
            self.lanes.remove(&lease.lane);
        }
        if let Some((asked_at, renewed)) = tended.renewed {
            self.take_renewed(asked_at, &tended.tried, &renewed);
        }
        for (lease, awaited, state) in tended.rechecked {
            self.take_rechecked(lease, awaited, &state);
        }
        if let Some(fleet) = tended.fleet {
            self.contact.answered(Instant::now(), self.lease.duration());
            self.take_stamps(&tended.cursors, fleet.stamp);
            self.fleet = fleet;
            self.has_met_others = true;
            // Not of the lanes that were leased just now: one that its worker never collects would go
            // from hand to hand and never be read.
            self.choose_surplus();
            let routed = std::mem::take(&mut self.fleet.routed);
            self.give_up_lanes(&routed);
        }
        if let Some(asked_at) = tended.leased_at {
            self.take_leased(asked_at, tended.leased);
        }
        if let Some(error) = &tended.error {
            self.leasing.failed(&self.parts, Instant::now(), error);
        } else {
            self.leasing.worked(&self.parts);
            self.say_holding();
        }
        self.say_recovered();
        self.tend_at = Instant::now() + self.next_tending(tended.error.is_some());
    }

    fn take_leased(&mut self, asked_at: Instant, leased: Vec<(LaneLease, LaneState)>) {
        let deadline = asked_at + self.lease.duration();
        for (lease, state) in leased {
            for waiting in &state.waiting {
                self.expect_due(lease.lane, waiting.due_in);
            }
            self.given_up.take_back(lease.lane);
            self.lanes.insert(lease.lane, LaneWindow::new(lease, deadline, state));
        }
        self.readers.iter_mut().for_each(|reader| reader.pace.found());
    }

    fn say_holding(&self) {
        let (records, bytes) = self.held();
        let (lanes, calls) = (self.lanes.len(), self.destinations.in_flight().calls);
        self.parts.measure(&Measurement::Holding { lanes, records, bytes, calls });
    }

    /// The round panicked: whatever it did is unknown, and renewal will tell.
    pub(super) fn take_died_tending(&mut self, plan: &TendPlan) {
        tracing::error!(lanes = plan.renew.len(), "the round that renews leases panicked");
        self.tend_at = Instant::now() + Duration::from_secs(1);
    }

    fn take_renewed(&mut self, asked_at: Instant, tried: &[LaneLease], renewed: &[LaneLease]) {
        for lease in tried {
            if renewed.contains(lease) {
                let Some(window) = self.lanes.get_mut(&lease.lane) else { continue };
                window.deadline = asked_at + self.lease.duration();
                for held in std::mem::take(&mut window.stale) {
                    self.destinations.put_back(held);
                }
            } else {
                self.lose_lane(lease.lane);
            }
        }
    }

    /// Reads records again whose claim is over, and frees keys whose failed record is neither waiting
    /// nor in memory any more.
    ///
    /// Only those that were awaited before the store was asked: one that failed since is not in
    /// its answer.
    fn take_rechecked(&mut self, lease: LaneLease, mut gone: Awaited, state: &LaneState) {
        let mine = |window: &&mut LaneWindow| window.lease == lease;
        let Some(window) = self.lanes.get_mut(&lease.lane).filter(mine) else { return };
        let freed = window.take_claims(&state.claimed);
        let waiting: HashSet<Position> = state.waiting.iter().map(|waiting| waiting.head).collect();
        let still_awaited: HashSet<Position> =
            window.awaited().into_iter().map(|(_, position)| position).collect();
        gone.retain(|(_, at)| !waiting.contains(at) && still_awaited.contains(at));
        if freed {
            self.expect_due(lease.lane, Duration::ZERO);
        }
        for (key, position) in gone {
            self.resolve(lease.lane, &key, position);
        }
    }

    /// Marks lanes beyond the share for hand-over when others lack some, idle lanes first.
    ///
    /// Not while there are some that nobody has collected: workers that die as soon as they have
    /// asked must not empty this one.
    fn choose_surplus(&mut self) {
        let open = self.lanes.values().filter(|window| !window.closing).count();
        let beyond = count(open).saturating_sub(self.fleet.least());
        let lacking = if self.fleet.free == 0 { self.fleet.wanted } else { 0 };
        let surplus = u32::from(beyond).min(lacking);
        let mut candidates: Vec<(usize, Lane)> = self
            .lanes
            .iter()
            .filter(|(_, window)| !window.closing)
            .map(|(lane, window)| (window.held().0, *lane))
            .collect();
        candidates.sort_unstable();
        for (_, lane) in candidates.into_iter().take(surplus as usize) {
            if let Some(window) = self.lanes.get_mut(&lane) {
                window.closing = true;
            }
        }
    }

    fn next_tending(&self, failed: bool) -> Duration {
        let interval = self.parts.settings.tend_interval();
        let short = (interval / 5).max(Duration::from_millis(10));
        if failed {
            return self.leasing.pause().min(short);
        }
        let handing_over = self.lanes.values().any(|window| window.closing);
        let lacking = count(self.lanes.len()) < self.due_share();
        if handing_over || lacking {
            return short;
        }
        let claims = self.lanes.values().filter_map(LaneWindow::next_claim_end).min();
        let until_claim = claims.map(|end| end.saturating_duration_since(Instant::now()));
        until_claim.map_or(interval, |until| until.clamp(short, interval))
    }
}

pub(super) fn count(lanes: usize) -> u8 {
    u8::try_from(lanes).unwrap_or(u8::MAX)
}

/// Renews first, because a lease must not run out while other statements wait for the database.
async fn round(store: Arc<dyn OutboxStore>, plan: TendPlan) -> Tended {
    let (tried, cursors) = (plan.renew.clone(), plan.cursors.clone());
    let mut tended = Tended { tried, cursors, ..Tended::default() };
    tended.error = steps(&*store, &plan, &mut tended).await.err();
    tended
}

async fn steps(
    store: &dyn OutboxStore,
    plan: &TendPlan,
    tended: &mut Tended,
) -> Result<(), StoreError> {
    let asked_at = Instant::now();
    let renewed = match plan.renew.as_slice() {
        [] => Vec::new(),
        leases => bounded(plan.limit, store.renew(leases, plan.lease)).await?,
    };
    tended.renewed = Some((asked_at, renewed));
    // The next renewal must not wait for all of the rest, one call after another, in a slow store.
    share(store, plan, Limit { each: plan.limit, until: Instant::now() + plan.rest }, tended).await
}

/// How long calls may take.
#[derive(Clone, Copy, Debug)]
struct Limit {
    each: Duration,
    until: Instant,
}

impl Limit {
    fn left(self) -> Duration {
        self.until.saturating_duration_since(Instant::now()).min(self.each)
    }
}

/// Gives back, shows itself, takes what is free, and asks about records that others may have settled.
async fn share(
    store: &dyn OutboxStore,
    plan: &TendPlan,
    limit: Limit,
    tended: &mut Tended,
) -> Result<(), StoreError> {
    if !plan.release.is_empty() {
        bounded(limit.left(), store.release(&plan.release)).await?;
        tended.released.clone_from(&plan.release);
    }
    let fleet = bounded(limit.left(), store.heartbeat(&plan.card)).await?;
    tended.fleet = Some(fleet.clone());
    let held = count(tended.renewed.as_ref().map_or(0, |(_, renewed)| renewed.len()));
    if held < Lane::COUNT && fleet.free > 0 && plan.card.wants_lanes.is_some() {
        // The odd lanes that no even share covers go to whoever asks, unless another lacks some.
        let fair = if fleet.wanted > 0 { fleet.least() } else { fleet.share() };
        let mine = held.saturating_add(count(plan.given_up.len()));
        lease_more(store, plan, limit, fair.saturating_sub(mine), tended).await?;
    }
    if !plan.recheck.is_empty() {
        let leases: Vec<_> = plan.recheck.iter().map(|(lease, _)| *lease).collect();
        let states = bounded(limit.left(), store.acquired(&leases)).await?;
        let pairs = plan.recheck.iter().cloned().zip(states);
        tended.rechecked = pairs.map(|((lease, awaited), state)| (lease, awaited, state)).collect();
    }
    Ok(())
}

async fn lease_more(
    store: &dyn OutboxStore,
    plan: &TendPlan,
    limit: Limit,
    lanes: u8,
    tended: &mut Tended,
) -> Result<(), StoreError> {
    // A lane that is being handed over must not come straight back.
    let orphans = plan.release.is_empty();
    let lease = plan.lease.duration();
    let asked_at = Instant::now();
    let request = LeaseRequest {
        owner: plan.card.id,
        lanes,
        lease: plan.lease,
        // Those that have all its topics come first.
        orphans: orphans.then(|| lease * if plan.given_up.is_empty() { 1 } else { 2 }),
        except: plan.given_up.clone(),
        counts_abandoned: plan.contact.is_steady(asked_at, lease),
    };
    let leases = bounded(limit.left(), store.lease(&request)).await?;
    if leases.is_empty() {
        return Ok(());
    }
    match bounded(limit.left(), store.acquired(&leases)).await {
        Ok(states) => {
            tended.leased = leases.into_iter().zip(states).collect();
            tended.leased_at = Some(asked_at);
            Ok(())
        }
        Err(error) => {
            // Without knowing which keys wait, nothing may be sent from these lanes. If giving
            // them back fails too, they come free when the lease runs out.
            let _ = bounded(plan.limit, store.release(&leases)).await;
            Err(error)
        }
    }
}
