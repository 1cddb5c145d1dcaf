//! The tests that hold each invariant and each decision. Tests are found in the sources, by their attribute or in the
//! lists of the suite. A listed test that is gone, or a rule without a test, fails here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The groups of invariants in order, and the number of invariants in each.
const INVARIANTS: [(char, u32); 7] = [('t', 14), ('e', 18), ('r', 22), ('m', 16), ('f', 11), ('x', 4), ('g', 5)];

/// Decisions about the ledger, with tests that fail if the decision is not kept: `file::test`, from the core, the
/// native store, `tests/conformance` or `tests/simulation`.
const DECISIONS: &[(&str, &[&str])] = &[
    (
        "one-claim-at-a-time",
        &[
            "deadlines::after_a_dispute_no_second_claim_reaches_the_money",
            "deadlines::after_an_expired_receipt_another_claim_may_be_filed",
            "invariants_receipt::r8_a_linked_escrow_is_open_between_the_same_two_and_has_no_other_claim",
        ],
    ),
    (
        "money-key-settled",
        &[
            "keys::an_unproved_rotation_freezes_the_wallet_and_gives_no_key",
            "keys::an_unproved_rotation_of_a_did_without_wallet_leaves_it_the_key_it_has",
        ],
    ),
    (
        "due-before-anything",
        &[
            "deadlines::what_is_due_happens_before_anything_else_is_done",
            "deadlines::a_refund_needs_the_dispute_of_a_claim",
            "deadlines::money_that_time_moved_is_spent_before_any_timer_comes",
            "deadlines::an_accepted_receipt_whose_release_failed_is_paid_after_the_unfreeze",
        ],
    ),
    (
        "hireable-offers",
        &[
            "ledger_market::a_free_listing_is_readable_but_found_by_nobody",
            "ledger_market::a_hundred_listings_per_did",
            "keys::who_keeps_its_key_keeps_its_offers",
        ],
    ),
    (
        "signer-key-table",
        &[
            "keys::a_rotation_that_was_signed_for_moves_the_wallet_at_once",
            "simulation::after_the_answer_to_a_rotation_the_key_before_it_moves_no_money",
        ],
    ),
    (
        "registered-recipients",
        &[
            "ledger_payments::paying_the_void_is_refused_and_makes_no_wallet",
            "times::a_wallet_of_an_unregistered_did_that_never_held_credit_goes_after_a_week",
            "invariants_transfer::t8_the_wallet_of_a_recipient_is_made_with_the_usual_caps_and_an_audit_row",
        ],
    ),
    (
        "freeze-stops-clocks",
        &[
            "deadlines::escrows_of_a_frozen_requester_are_held_until_the_unfreeze_or_an_admin",
            "deadlines::deadlines_stand_still_while_the_system_is_frozen",
            "ledger_races::after_the_answer_to_a_freeze_nothing_settles_that_64_connections_send",
        ],
    ),
    ("transfer-five-rows", &["room::a_transfer_leaves_at_most_five_rows"]),
    ("batch-one-event", &["room::a_batch_leaves_one_row_and_one_for_each_distinct_recipient"]),
    (
        "batch-contract",
        &[
            "ledger_batch::a_batch_settles_all_and_each_transfer_is_readable",
            "ledger_batch::a_batch_settles_all_or_nothing_and_says_which_item_failed",
            "ledger_batch::a_batch_id_is_its_nonce",
            "ledger_batch::items_are_checked_like_an_envelope",
            "ledger_batch::the_largest_batch_fits_and_one_more_item_does_not",
        ],
    ),
    (
        "ledger-log",
        &[
            "log::the_log_leads_to_the_signed_root_and_to_every_balance",
            "log::who_forges_drops_or_moves_an_event_is_caught",
            "log::proofs_lead_from_transfers_escrows_and_places_to_the_root",
            "merkle::roots_are_those_of_the_published_vectors",
            "merkle::inclusion_and_consistency_hold_for_all_sizes_to_130_and_for_nothing_else",
            "ledger_audit::the_signed_head_is_over_the_log_that_is_exported",
            "ledger_audit::the_program_says_at_which_event_a_forged_log_breaks",
        ],
    ),
    (
        "ledger-room",
        &[
            "ledger_room::health_says_how_much_is_stored_and_what_is_not_known",
            "ledger_room::near_the_limit_new_wallets_and_listings_are_refused_and_money_still_moves",
            "room::ninety_percent_of_the_smaller_limit_are_nearly_full",
            "room::days_are_counted_from_a_day_of_growth_and_are_null_with_a_reason_before",
            "room::days_left_follow_from_what_was_stored_in_the_last_days",
            "room::of_a_thousand_refused_transfers_a_day_there_are_rows_and_of_more_only_the_nonce",
        ],
    ),
    (
        "refusal-burns-nonce",
        &[
            "times::a_refused_envelope_stays_refused_when_the_reason_is_gone",
            "times::a_freeze_burns_nothing_and_burnt_nonces_go",
        ],
    ),
    (
        "shared-market-reads",
        &[
            "bounds::shared_reads_are_late_by_at_most_thirty_seconds_and_a_freeze_shows_at_once",
            "bounds::natively_a_search_shows_what_is_there_at_once",
            "bounds::overload_is_503_with_retry_after",
        ],
    ),
    (
        "offer-index",
        &[
            "tests::the_index_finds_what_a_walk_over_all_offers_finds",
            "tests::a_search_reads_a_bounded_part_of_many_offers",
            "tally::the_top_table_is_that_of_all_counts",
            "stats::counts_of_a_day_and_an_hour_are_those_of_the_minutes_that_lie_in_them",
        ],
    ),
    (
        "cap-window",
        &[
            "invariants_transfer::t5_rolling_cap_counts_exactly_24_hours_and_not_a_microsecond_more",
            "times::a_wallet_remembers_minutes_of_a_day_and_no_more",
        ],
    ),
    ("unique-event-times", &["times::a_thousand_rows_of_one_instant_page_out_once"]),
    ("verified-write-limits", &["ledger_payments::requests_without_a_good_signature_spend_nobodys_budget"]),
    ("money-supply-bound", &["ledger_operators::no_more_money_than_can_be_counted"]),
    (
        "faucet-addresses",
        &[
            "times::three_grants_per_address_and_day",
            "invariants_faucet::f7_an_address_is_given_to_three_times_in_a_day_and_who_has_none_is_not_counted",
        ],
    ),
    (
        "operator-keys",
        &[
            "ledger_operators::keys_come_from_the_operator_of_the_deployment_alone",
            "order::the_order_of_checks_of_an_operators_action",
        ],
    ),
    (
        "envelope-audience",
        &[
            "ledger_payments::an_envelope_for_another_deployment_is_refused",
            "ledger_operators::without_an_audience_two_servers_both_settle_one_envelope",
        ],
    ),
    (
        "own-provider",
        &[
            "ledger_provider::a_hire_of_our_own_services_reaches_claimed_alone_and_says_what_is_known",
            "ledger_provider::accepting_completes_a_hire_of_ours_and_pays_its_provider",
            "ledger_provider::each_of_many_hires_of_ours_is_claimed",
            "ledger_provider::the_providers_name_is_nobody_elses_and_it_has_no_api_key",
        ],
    ),
    (
        "ledger-texts-for-parties",
        &[
            "ledger_payments::memos_are_in_lists_only_for_a_party",
            "ledger_market::inputs_are_in_no_list_of_a_requester",
        ],
    ),
    (
        "strict-signatures",
        &[
            "act::wycheproof_decides_which_envelopes_verify",
            "ledger_payments::only_canonical_base64_is_a_signature",
            "signatures::no_signature_of_wycheproof_passes_for_one_of_an_envelope",
            "signatures::no_agent_registers_a_key_of_small_order_or_of_a_second_encoding",
        ],
    ),
    (
        "strict-ledger-json",
        &[
            "json::members_that_come_twice_and_half_pairs_are_refused",
            "json::nesting_over_eight_is_refused_without_using_the_stack",
            "json::numbers_without_a_single_meaning_have_no_form",
            "ledger_payments::strange_json_is_an_invalid_envelope",
            "vectors::a_member_too_much_too_little_or_of_another_type_is_no_envelope",
        ],
    ),
    ("brand-fixed", &["vectors::recorded_envelopes_have_the_bytes_hashes_and_signatures_of_other_implementations"]),
    (
        "deadline-skew",
        &[
            "deadlines::upper_bounds_have_the_skew_of_clocks",
            "invariants_escrow::e8_a_deadline_is_later_than_now_and_at_most_a_week_and_half_a_minute_away",
            "invariants_receipt::r6_the_requester_has_from_five_minutes_to_a_week_to_look_at_the_work",
            "invariants_receipt::r9_an_acceptance_deadline_is_not_after_that_of_the_escrow",
        ],
    ),
    (
        "reason-order",
        &[
            "reason::every_reason_has_the_status_that_clients_know",
            "ledger_reasons::every_reason_is_raised_with_its_status_and_body",
            "order::the_order_of_checks_of_a_transfer",
            "order::the_order_of_checks_of_a_hire",
            "order::the_order_of_checks_of_an_acceptance",
        ],
    ),
    ("ledger-route-order", &["ledger_payments::manifest_lists_the_routes_in_their_order"]),
    (
        "money-model",
        &[
            "model::money_is_conserved_over_random_operations_crashes_and_jumps_of_the_clock",
            "malformed::ten_thousand_malformed_envelopes_never_break_anything",
            "space::money_is_conserved_in_a_file_that_is_reopened_at_every_crash",
        ],
    ),
    ("action-nonce-repeats", &["ledger_escrows::one_action_nonce_serves_two_acceptances"]),
    (
        "ledger-idempotency",
        &[
            "ledger_idempotency::a_repeat_under_its_key_gets_the_first_answer_and_settles_once",
            "ledger_idempotency::another_envelope_under_a_used_key_is_422_and_takes_nothing",
            "ledger_idempotency::a_key_counts_per_route_and_signer",
            "ledger_idempotency::what_may_pass_is_not_remembered",
        ],
    ),
    ("deactivated-wallets", &["keys::deactivation_ends_key_and_listings_and_still_receives"]),
    ("ledger-for-clients", &["ledger_escrows::newer_clients_close_escrows_with_their_own_members"]),
];

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The Rust files of a folder and of its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}

/// The name by which tests of a file are listed here: the name of the file, or of its folder for a `mod.rs`.
fn stem(path: &Path) -> String {
    let of = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    if of(path) == "mod" { of(path.parent().unwrap()) } else { of(path) }
}

/// The functions that have the attribute of a test.
fn attributed(text: &str) -> BTreeSet<String> {
    let (mut names, mut test) = (BTreeSet::new(), false);
    for line in text.lines().map(str::trim) {
        test |= line == "#[test]";
        if let Some(rest) = line.strip_prefix("fn ").filter(|_| test) {
            names.insert(rest.split('(').next().unwrap_or_default().to_owned());
            test = false;
        }
    }
    names
}

/// The functions in the list of a file of the conformance suite.
fn listed(text: &str) -> BTreeSet<String> {
    let list = text.split_once("cases![").and_then(|(_, rest)| rest.split_once("];")).map_or("", |(list, _)| list);
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Every test about the ledger, by file.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let elsewhere = [
        "../../tests/simulation.rs",
        "../../native-server/src/store/space.rs",
        "../crypto/src/json.rs",
        "../crypto/src/merkle.rs",
    ]
    .map(source);
    for path in files(&source("src")).into_iter().chain(elsewhere) {
        tests.entry(stem(&path)).or_default().extend(attributed(&read(&path)));
    }
    let suite = read(&source("../../tests/conformance/main.rs"));
    for path in files(&source("../../tests/conformance")) {
        let name = stem(&path);
        if name.starts_with("ledger_") {
            assert!(suite.contains(&format!("(\"{name}\", {name}::CASES)")), "{name} is not in the suite");
            tests.entry(name).or_default().extend(listed(&read(&path)));
        }
    }
    tests
}

#[test]
fn every_file_of_tests_is_compiled() {
    let parent = std::fs::read_to_string(source("src/tests/mod.rs")).unwrap();
    for path in files(&source("src/tests")) {
        let name = stem(&path);
        let inside = path.parent().unwrap() != source("src/tests");
        assert!(inside || name == "tests" || parent.contains(&format!("mod {name};")), "{name} is not compiled");
    }
}

#[test]
fn every_invariant_has_a_test_that_is_named_after_it() {
    let mut held: BTreeSet<String> = BTreeSet::new();
    for name in tests().into_values().flatten() {
        // One test may hold several invariants, named at the beginning of its name: `e10_e11_...`.
        let is_id = |word: &str| {
            let digits = word.get(1..).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit()));
            digits && INVARIANTS.iter().any(|(group, _)| word.starts_with(*group))
        };
        held.extend(name.split('_').take_while(|word| is_id(word)).map(str::to_owned));
    }
    for (group, last) in INVARIANTS {
        for number in 1..=last {
            assert!(held.contains(&format!("{group}{number}")), "{group}{number} has no test");
        }
    }
}

#[test]
fn every_decision_is_written_down_and_has_a_test() {
    let pages: String = std::fs::read_dir(source("../../docs/decisions"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let tests = tests();
    for (decision, proofs) in DECISIONS {
        assert!(pages.contains(&format!("### {decision}\n")), "{decision} is no entry of docs/decisions");
        assert!(!proofs.is_empty(), "{decision} has no test");
        for proof in *proofs {
            let (file, name) = proof.split_once("::").unwrap();
            assert!(tests.get(file).is_some_and(|tests| tests.contains(name)), "{decision}: there is no test {proof}");
        }
    }
}
