//! The list of all cases.

/// Expands to one `#[tokio::test]` for each case of the [conformance suite](crate::conformance).
///
/// The expression makes a fresh [`StoreFixture`](crate::conformance::StoreFixture) and may await.
/// Invoke it in a module of its own for each store; the crate needs tokio with `macros` and `rt`.
#[macro_export]
macro_rules! store_conformance {
    ($fixture:expr) => {
        $crate::store_conformance! {
            @tests $fixture;
            lease:
                free_lanes_are_leased_as_asked
                a_held_lane_is_not_leased
                fewer_lanes_than_asked_for_is_no_error
                no_lane_is_leased_twice
                a_worker_that_asks_for_no_lane_gets_none
                each_lease_has_a_fresh_token
                an_expired_lane_is_leased_anew
                a_lease_holds_for_every_store
                a_renewed_lease_outlives_its_first_end
                a_renewal_keeps_the_token
                a_renewal_never_shortens_a_lease
                an_expired_lease_is_not_renewed
                a_superseded_lease_is_not_renewed
                a_lost_lease_does_not_spoil_a_renewal
                a_released_lane_is_leased_at_once
                releasing_a_lost_lease_leaves_the_new_owner_alone
                releasing_again_is_harmless
                orphaned_lanes_are_taken_beyond_what_was_asked
                orphaned_lanes_are_left_unless_asked_for
                a_lane_that_was_never_leased_is_an_orphan
                a_lane_that_was_just_freed_is_no_orphan
                a_lane_that_was_given_up_is_left_for_others
                a_lane_that_was_given_up_may_be_an_orphan;
            fencing:
                a_superseded_lease_settles_nothing
                an_expired_lease_settles_nothing
                a_released_lease_settles_nothing
                a_lost_lane_is_named_with_its_token
                a_lost_lane_does_not_hold_up_the_others
                a_lease_gives_no_right_in_another_lane
                an_outcome_of_another_id_changes_nothing
                an_outcome_under_another_revision_changes_nothing
                all_outcomes_of_a_held_lane_take_effect;
            read:
                a_complete_message_is_read_as_it_was_staged
                a_bare_message_is_read_as_it_was_staged
                a_large_payload_is_read_whole
                a_new_record_has_no_attempts_and_no_error
                a_record_is_in_the_lane_of_its_message
                a_lane_is_read_in_order_of_position
                positions_grow_and_are_never_used_twice
                only_the_lanes_asked_for_are_read
                a_read_of_no_lanes_finds_nothing
                an_empty_outbox_gives_an_empty_batch
                records_up_to_the_floor_are_left_out
                known_records_are_left_out
                known_records_count_for_nothing
                the_record_budget_cuts_a_lane_to_a_prefix
                the_record_budget_holds_for_all_lanes_together
                an_answer_that_holds_everything_was_not_cut
                a_full_lane_leaves_room_for_the_others
                the_byte_budget_cuts_a_lane_to_a_prefix
                the_byte_budget_holds_for_all_lanes_together
                a_record_larger_than_the_byte_budget_is_read_alone
                reading_on_finds_every_record_once
                a_read_changes_nothing
                keys_that_share_a_lane_are_both_read
                one_event_id_may_stand_in_several_records
                an_undecodable_row_does_not_stop_its_lane
                what_is_staged_later_is_read_later;
            order:
                an_uncommitted_record_is_not_read
                a_rolled_back_record_is_never_read
                no_read_takes_an_open_writer_for_ended
                a_late_commit_is_read_once_the_horizon_passes
                an_ordered_mark_is_true
                a_heartbeat_has_a_stamp_like_a_settlement
                a_later_settlement_has_a_higher_stamp;
            withhold:
                a_withheld_topic_is_left_out
                a_topic_is_withheld_for_its_transport_alone
                all_keys_of_a_topic_are_withheld_together
                a_withheld_destination_leaves_its_keys
                a_name_of_other_letters_is_not_withheld
                a_withheld_key_is_left_out
                a_failed_head_of_a_withheld_key_is_read
                withheld_records_count_for_nothing
                a_long_queue_of_withheld_records_is_read_past
                nothing_is_left_out_below_what_was_reached
                a_long_queue_of_withheld_due_records_is_read_past
                a_long_queue_of_one_instant_is_read_past
                nothing_due_is_left_out_before_what_was_reached
                a_place_among_the_due_counts_only_where_something_is_withheld
                how_far_was_looked_is_told_of_each_lane
                nothing_is_reached_where_nothing_is_withheld;
            schedule:
                a_delayed_record_is_not_read_before_its_time
                a_delayed_record_is_read_when_it_is_due
                a_scheduled_record_is_not_read_before_its_instant
                a_scheduled_record_is_read_from_its_instant_on
                an_instant_that_has_passed_is_due_at_once
                a_record_that_becomes_due_behind_the_floor_is_read
                a_retried_record_behind_the_floor_is_read
                due_records_that_waited_come_first
                what_is_due_for_longest_is_taken_first
                a_known_record_that_waited_is_left_out
                a_failure_does_not_change_the_delivery_time
                a_delay_counts_from_the_stores_clock;
            settle:
                a_published_record_is_gone
                a_settlement_names_what_took_effect
                a_record_that_is_not_named_stays
                many_lanes_are_settled_in_one_call
                repeating_a_settlement_is_harmless
                settling_nothing_is_harmless
                another_record_of_the_same_event_stays
                a_settlement_holds_for_every_store
                a_dropped_settlement_may_be_repeated;
            retry:
                a_failed_record_waits_for_its_delay
                a_failed_record_is_due_after_its_delay
                a_retry_delay_counts_from_the_stores_clock
                a_failure_counts_one_attempt
                a_repeated_failure_counts_once
                a_late_success_of_an_earlier_attempt_changes_nothing
                a_retried_record_may_be_published
                the_last_failure_is_kept
                the_first_failure_keeps_its_instant
                a_release_counts_no_attempt
                an_expired_lease_counts_no_attempt
                a_key_waits_for_a_head_that_is_due_again
                a_new_owner_is_told_which_keys_wait
                only_a_failed_head_makes_a_key_wait;
            dead_letter:
                a_dead_record_is_kept_with_its_reason
                each_reason_is_stored_as_its_word
                a_record_may_die_after_it_failed
                a_repeated_death_changes_nothing
                two_records_of_one_event_may_both_die
                a_death_leaves_the_rest_of_its_lane_alone
                an_undecodable_row_becomes_a_dead_letter;
            park:
                a_dead_head_parks_its_key
                a_death_parks_no_key_unless_asked
                an_unordered_record_parks_nothing
                a_record_of_a_parked_key_leaves_the_hot_table
                parking_again_changes_nothing
                a_record_whose_key_is_free_is_not_parked
                an_unordered_record_is_not_parked
                another_key_of_the_lane_is_not_parked
                the_same_word_in_another_topic_is_not_parked
                a_second_death_leaves_the_key_parked
                lanes_are_told_in_the_order_of_the_leases
                only_the_acquired_lanes_are_told
                a_parked_record_is_not_ready;
            invalid:
                an_empty_error_text_is_refused
                a_delay_beyond_the_calendar_is_refused_or_cut
                a_lease_beyond_the_calendar_is_refused_or_cut
                calls_about_no_lanes_are_no_error
                an_invented_token_has_no_right;
            crash_loop:
                a_lane_that_was_not_given_back_counts_as_abandoned
                a_lane_with_nothing_due_is_not_abandoned
                a_lane_with_a_scheduled_record_that_is_due_is_abandoned
                a_lane_that_was_given_back_is_not_abandoned
                a_lane_that_its_owner_takes_again_is_not_abandoned
                nothing_is_abandoned_unless_it_is_to_be_counted
                a_settled_attempt_clears_its_lane
                a_settled_attempt_clears_no_other_lane
                what_is_no_attempt_clears_nothing
                a_death_counts_against_the_marked_record
                a_mark_ends_with_its_lease
                a_mark_that_was_taken_back_counts_nothing
                a_release_counts_no_death
                another_suspect_has_no_deaths
                a_lost_lease_marks_nothing;
            fleet:
                a_worker_counts_itself
                live_workers_count_each_other
                a_worker_counts_by_its_last_word
                a_silent_worker_counts_as_gone
                a_worker_outside_of_sharing_is_not_counted
                a_worker_may_stop_sharing
                a_heartbeat_is_seen_by_every_store
                a_heartbeat_tells_how_many_lanes_are_free
                a_heartbeat_tells_which_topics_others_can_send_to;
            stats:
                an_empty_outbox_counts_nothing
                records_are_counted_by_their_state
                a_retried_record_that_is_due_is_ready
                a_record_in_flight_counts_as_ready
                the_oldest_age_counts_from_staging
                the_oldest_age_of_a_scheduled_record_counts_from_its_time
                a_record_that_waits_has_no_age;
        }
    };
    (@tests $fixture:expr; $($group:ident: $($case:ident)+;)+) => {
        $($(
            #[::tokio::test]
            async fn $case() {
                let fixture = $fixture;
                $crate::conformance::$group::$case(&fixture).await;
            }
        )+)+
    };
}

/// Expands to one `#[tokio::test]` for each case about [claims](outbox_core::RecordClaims) of single
/// records, which a store need not have.
///
/// Used as [`store_conformance!`](crate::store_conformance), beside it and in the same module or in
/// another. The expression makes a fresh [`ClaimsFixture`](crate::conformance::ClaimsFixture).
#[macro_export]
macro_rules! record_claims_conformance {
    ($fixture:expr) => {
        $crate::store_conformance! {
            @tests $fixture;
            claim:
                a_due_record_is_claimed_as_it_is
                each_claim_has_a_fresh_token
                records_of_one_key_are_claimed_in_any_order
                a_claimed_record_is_refused_with_its_claimant
                a_refusal_leaves_the_claim_that_stands
                a_record_is_claimed_by_one_of_many_at_once
                an_expired_claim_is_taken_over
                a_record_that_is_not_there_is_refused
                a_record_of_another_id_is_refused
                a_dead_record_is_refused
                a_record_that_is_not_due_is_refused
                a_record_that_has_become_due_is_claimed
                a_parked_record_is_refused
                a_record_behind_a_dead_one_is_refused;
            claim_end:
                a_renewed_claim_outlives_its_first_end
                a_renewal_never_shortens_a_claim
                a_completed_record_is_gone
                a_failed_claim_counts_one_attempt
                a_failed_claim_waits_for_its_delay
                a_failed_claim_frees_its_record
                a_failed_claim_is_void
                a_completed_claim_is_void
                an_expired_claim_is_void
                an_invented_claim_is_void
                a_claim_is_void_for_any_other_record
                a_claim_beyond_the_calendar_is_refused_or_cut;
            claim_lane:
                a_record_of_a_leased_lane_is_refused_with_its_owner
                a_record_of_a_lane_that_was_given_back_is_claimed
                a_record_of_a_lane_whose_lease_is_over_is_claimed
                a_new_owner_is_told_which_records_are_claimed
                only_the_acquired_lanes_tell_their_claims
                a_claim_that_is_over_is_the_owners
                an_owner_settles_no_claimed_record
                an_owner_settles_what_is_not_claimed
                a_claim_is_completed_in_a_leased_lane
                a_claim_that_fails_in_a_leased_lane_makes_its_key_wait;
        }
    };
}

/// Expands to one `#[tokio::test]` for each case about the very instants at which something becomes
/// due or ends, which need a store by a supplied [clock](outbox_core::Clock).
///
/// Used as [`store_conformance!`](crate::store_conformance), beside it. The clock of the fixture
/// stands still until [`pass`](crate::conformance::StoreFixture::pass) moves it, by exactly that long.
#[macro_export]
macro_rules! clock_conformance {
    ($fixture:expr) => {
        $crate::store_conformance! {
            @tests $fixture;
            clock:
                the_clock_stands_still_until_it_is_moved
                a_record_is_due_at_its_very_instant
                a_record_is_not_due_a_microsecond_early
                a_record_counts_as_ready_from_its_very_instant_on
                a_lease_is_over_at_its_very_end
                a_lease_is_live_a_microsecond_before_its_end
                a_renewed_lease_ends_so_long_after_its_renewal
                a_lane_is_an_orphan_a_microsecond_after_a_lease
                a_failed_record_is_due_at_the_very_end_of_its_delay
                records_of_one_instant_are_read_by_position
                a_lane_is_abandoned_from_the_instant_on_at_which_it_has_due
                a_worker_is_gone_at_the_very_end_of_its_time;
        }
    };
}

/// Expands to one `#[tokio::test]` for each case about the very instants at which
/// [claims](outbox_core::RecordClaims) begin and end.
///
/// Used as [`clock_conformance!`](crate::clock_conformance), for a store that has claims. The
/// expression makes a fresh [`ClaimsFixture`](crate::conformance::ClaimsFixture).
#[macro_export]
macro_rules! claims_clock_conformance {
    ($fixture:expr) => {
        $crate::store_conformance! {
            @tests $fixture;
            clock_claim:
                a_claim_is_over_at_its_very_end
                a_claim_is_live_a_microsecond_before_its_end
                a_record_is_claimed_from_its_very_instant_on
                a_record_is_claimed_from_the_end_of_its_lanes_lease_on
                a_failed_claim_is_due_at_the_very_end_of_its_delay
                an_owner_is_told_of_a_claim_until_its_very_end;
        }
    };
}
