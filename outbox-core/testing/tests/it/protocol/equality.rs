//! The model and the store in memory say the same, whatever happens.

use fastrand::Rng;
use outbox_core::Position;
use outbox_testing::CommitOrder;
use outbox_testing::protocol::{
    Action, CallEnding, ClaimCall, Draft, Mutant, State, Verdict, step,
};

use super::mirror::{Difference, Mirror};
use super::model::possible;

const LANES: u8 = 2;
const WORKERS: u8 = 2;
const STEPS: usize = 120;
const RUNS: u64 = 300;
const ORDERS: [CommitOrder; 3] =
    [CommitOrder::Numbered, CommitOrder::Ordered, CommitOrder::Unknown];

#[tokio::test]
async fn the_store_in_memory_does_what_the_model_does() {
    let mut sights = Sights::default();

    for seed in 0..RUNS {
        let (state, ending) = run(seed, None, &mut sights).await;
        assert_eq!(ending, Ok(()), "seed {seed}, after {state:?}");
    }

    assert!(sights.dead > 100 && sights.parked > 100 && sights.lost > 10, "{sights:?}");
    assert!(sights.claimed > 500 && sights.completed > 100, "{sights:?}");
}

/// What the model and the store must not differ in is looked at.
#[tokio::test]
async fn a_store_that_is_not_the_model_is_told_apart() {
    let mistakes = [
        Mutant::ClaimBesideLease,
        Mutant::ClaimedSettled,
        Mutant::CountTwice,
        Mutant::ExpiryIgnored,
        Mutant::LateSuccessAccepted,
        Mutant::NoFence,
        Mutant::NoPark,
        Mutant::StaleClaimTaken,
        Mutant::TokenReused,
    ];

    for mutant in mistakes {
        let mut differs = false;
        for seed in 0..RUNS {
            let (_, ending) = run(seed, Some(mutant), &mut Sights::default()).await;
            differs = ending.is_err();
            if differs {
                break;
            }
        }
        assert!(differs, "{mutant:?} was not seen");
    }
}

/// What happened in all runs together, so that they are known to have been about something.
#[derive(Debug, Default)]
struct Sights {
    claimed: usize,
    completed: usize,
    dead: usize,
    lost: usize,
    parked: usize,
}

/// One run of random steps, and how it ended.
async fn run(
    seed: u64,
    mutant: Option<Mutant>,
    sights: &mut Sights,
) -> (State, Result<(), Difference>) {
    let mut random = Rng::with_seed(seed);
    let commits = ORDERS[random.usize(..ORDERS.len())];
    let mut state = match mutant {
        Some(mutant) => State::broken(commits, LANES, WORKERS, mutant),
        None => State::new(commits, LANES, WORKERS),
    };
    let mut mirror = Mirror::new(commits, LANES, WORKERS).await;
    for _ in 0..STEPS {
        let (action, next) = random_step(&state, &mut random);
        if let Err(difference) = mirror.follow(&state, &action, &next).await {
            return (state, Err(format!("{action:?}: {difference}")));
        }
        if let Some(position) = any_record(&next, &mut random)
            && let Err(difference) = mirror.refuse(&next, position).await
        {
            return (next, Err(format!("a claim of {position:?}: {difference}")));
        }
        if matches!(action, Action::Claimed(..)) && next.tables.rows.len() < state.tables.rows.len()
        {
            sights.completed += 1;
        }
        let windows =
            |state: &State| state.workers.iter().map(|it| it.windows.len()).sum::<usize>();
        if matches!(action, Action::Settle { .. }) && windows(&next) < windows(&state) {
            sights.lost += 1;
        }
        state = next;
    }
    sights.claimed += state.claimants.len();
    sights.dead += state.tables.dead.len();
    sights.parked += state.tables.parked.len();
    (state, Ok(()))
}

/// A record that is stored, wherever.
fn any_record(state: &State, random: &mut Rng) -> Option<Position> {
    let tables = &state.tables;
    let stored = [&tables.rows, &tables.dead, &tables.parked].into_iter().flat_map(|it| it.keys());
    let stored: Vec<Position> = stored.copied().collect();
    (!stored.is_empty()).then(|| stored[random.usize(..stored.len())])
}

/// A step that can be taken, those that move things on more often than those that disturb.
fn random_step(state: &State, random: &mut Rng) -> (Action, State) {
    let lane = random.u8(..LANES);
    // A key is in one lane only.
    let key = (random.u8(..4) > 0).then_some(lane);
    let mut actions = possible(state);
    // The store in memory knows nothing of replays.
    actions.retain(|action| !matches!(action, Action::Unpark { .. }));
    actions.extend([Action::Stage(Draft { lane, key }), Action::Tick]);
    actions.extend((0..WORKERS).map(|worker| Action::Lease { worker, lanes: 1 }));
    loop {
        let sum: usize = actions.iter().map(weight).sum();
        let mut drawn = random.usize(..sum);
        let mut past = |action: &&Action| {
            let here = drawn < weight(action);
            drawn = drawn.saturating_sub(weight(action));
            here
        };
        let action = *actions.iter().find(|action| past(action)).expect("it is below the sum");
        if let Ok(next) = step(state, action) {
            return (action, next);
        }
    }
}

const fn weight(action: &Action) -> usize {
    match action {
        Action::Claimed(_, ClaimCall::Fail | ClaimCall::Renew)
        | Action::Crash { .. }
        | Action::Drain { .. }
        | Action::GiveUp { .. }
        | Action::Release { .. }
        | Action::Rollback(_)
        | Action::Settle { ending: CallEnding::AnswerLost | CallEnding::Delayed, .. } => 1,
        Action::Claimed(_, ClaimCall::Complete | ClaimCall::Send)
        | Action::Late(_)
        | Action::Renew { .. }
        | Action::Stage(_)
        | Action::Tick
        | Action::Verdict(_, Verdict::AnswerLost | Verdict::Refused | Verdict::Rejected) => 4,
        _ => 12,
    }
}
