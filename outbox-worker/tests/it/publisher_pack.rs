//! Packing, and what counts towards a limit.

use outbox_core::{FailureKind, OutboxMessage};
use outbox_worker::publisher::sns::{EnvelopeForm, SnsEntry, SnsTopic, TopicProfile, pack};

use crate::publisher_fixture::message;

const LIMIT: usize = TopicProfile::DEFAULT_LIMIT;

#[test]
fn messages_share_requests_up_to_the_limit_and_ten() {
    let rows: [(Vec<usize>, Vec<Vec<usize>>); 9] = [
        (vec![], vec![]),
        (vec![1], vec![vec![0]]),
        (vec![1; 10], vec![(0..10).collect()]),
        (vec![1; 11], vec![(0..10).collect(), vec![10]]),
        (vec![30_720; 10], vec![(0..8).collect(), vec![8, 9]]),
        (vec![131_072, 131_072], vec![vec![0, 1]]),
        (vec![131_072, 131_073], vec![vec![0], vec![1]]),
        (vec![LIMIT, 1, LIMIT], vec![vec![0], vec![1], vec![2]]),
        // In order of arrival these would take three.
        (vec![100_000, 200_000, 60_000, 160_000], vec![vec![0, 3], vec![1, 2]]),
    ];
    for (sizes, expected) in rows {
        assert_eq!(pack(&sizes, LIMIT), expected, "{sizes:?}");
    }
}

#[test]
fn a_message_above_the_limit_travels_alone() {
    assert_eq!(pack(&[1, LIMIT + 1, 1], LIMIT), [vec![0, 2], vec![1]]);
    assert_eq!(pack(&[usize::MAX, usize::MAX], LIMIT), [vec![0], vec![1]]);
}

#[test]
fn every_message_is_packed_once_and_no_request_is_too_large() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2000 {
        let sizes: Vec<usize> = (0..random.usize(0..40)).map(|_| random.usize(1..=LIMIT)).collect();

        let requests = pack(&sizes, LIMIT);

        let mut places: Vec<usize> = requests.concat();
        places.sort_unstable();
        assert_eq!(places, (0..sizes.len()).collect::<Vec<_>>());
        for request in &requests {
            assert!(request.len() <= 10 && request.is_sorted());
            assert!(request.iter().map(|&place| sizes[place]).sum::<usize>() <= LIMIT);
        }
    }
}

fn wrap(message: &OutboxMessage, limit: usize) -> Result<SnsEntry, outbox_core::Failure> {
    let profile = TopicProfile::new(EnvelopeForm::Binary).with_limit(limit).unwrap();
    let topic = SnsTopic::new("arn:aws:sns:us-east-1:000000000000:orders").unwrap();
    SnsEntry::new(message, &topic.with_profile(profile))
}

#[test]
fn names_types_and_values_of_attributes_count() {
    let entry = wrap(&message("é"), 1024).unwrap();

    let attributes: usize =
        entry.attributes().map(|(name, value)| name.len() + "String".len() + value.len()).sum();
    assert!(attributes > 100);
    assert_eq!(entry.size(), 2 + attributes);
}

#[test]
fn a_message_may_fill_the_limit_and_not_a_byte_more() {
    let around = wrap(&message("x"), 1024).unwrap().size() - 1;
    for limit in [1024, LIMIT, TopicProfile::LARGEST_LIMIT] {
        let fits = "x".repeat(limit - around);
        let entry = wrap(&message(fits.clone()), limit).unwrap();
        assert_eq!(entry.size(), limit);

        let failure = wrap(&message(fits + "x"), limit).unwrap_err();

        assert_eq!(failure.kind, FailureKind::Message);
        assert!(failure.summary().contains(&(limit + 1).to_string()), "{failure}");
        assert!(failure.summary().contains(&limit.to_string()), "{failure}");
    }
}
