//! The three lists of the wire contract on which clients depend. Each row names the tests of this suite that check it.
//! A row without a test, or with a test that no longer exists, fails here.

use crate::{MODULES, Suite, cases};

cases![every_row_of_the_lists_has_its_tests];

/// A row, and the tests that check it.
type Row = (&'static str, &'static [&'static str]);

/// Facts whose violation breaks clients.
const FACTS: [Row; 10] = [
    ("the key comes in X-Agent-Key", &["agents::a_profile_needs_its_own_key"]),
    ("SSE is there and answers 200", &["streams::a_stream_has_the_one_form_that_clients_parse"]),
    ("line feeds alone, one space after the colon", &["streams::a_stream_has_the_one_form_that_clients_parse"]),
    ("reconnect, then the end", &["streams::a_stream_asks_to_reconnect_and_closes_after_its_own_time"]),
    ("an envelope is a text, byte for byte", &["messages::an_encrypted_message_arrives_byte_for_byte"]),
    ("oldest first", &["mailbox::messages_come_oldest_first_whoever_sent_them"]),
    ("standard base64 with padding", &["registration::keys_of_a_wrong_length_or_alphabet_are_refused"]),
    ("signatures of 32 bytes too", &["messages::a_signature_has_32_or_64_bytes_and_a_nonce_24"]),
    ("unread only, and reading marks nothing", &["mailbox::unread_only_is_the_default_and_a_get_marks_nothing"]),
    (
        "an empty body with a type is none",
        &["relay_transport::fact_10_an_empty_body_with_a_json_type_is_no_body_on_any_route"],
    ),
];

/// Conflicts between clients, by number. Row 19 is about names in a client, which no server sees.
const CONFLICTS: [Row; 45] = [
    ("key header", &["agents::a_profile_needs_its_own_key"]),
    ("DID of 16 bytes", &["registration::the_did_is_base58_of_the_first_16_bytes_of_the_signing_key"]),
    (
        "no activity in identity and search",
        &["agents::an_identity_hides_activity", "relay_search::the_search_shows_no_activity"],
    ),
    ("heartbeats show", &["relay_memory::only_heartbeats_show_and_never_a_count"]),
    ("unread is the default", &["mailbox::unread_only_is_the_default_and_a_get_marks_nothing"]),
    ("the same filters on both", &["relay_receive::every_combination_of_filters_walks_its_own_messages_in_order"]),
    ("message_type of send", &["mailbox::each_filter_chooses_its_messages_on_both_routes"]),
    ("signature lengths", &["messages::a_signature_has_32_or_64_bytes_and_a_nonce_24"]),
    ("the recipient verifies", &["messages::a_wrong_signature_is_carried_for_the_recipient_to_judge"]),
    ("envelope is optional", &["messages::a_missing_or_null_envelope_stays_null"]),
    (
        "sizes",
        &[
            "messages::the_largest_message_of_the_sdk_is_carried",
            "messages::a_message_has_at_most_65536_characters_of_any_kind",
        ],
    ),
    (
        "members of a rotation",
        &[
            "relay_identity::two_keys_are_enough_to_rotate",
            "relay_identity::a_rotation_replaces_signed_prekey_and_ml_kem_key_together",
        ],
    ),
    ("prekey ids of 64 bits", &["relay_identity::uploaded_prekeys_are_given_one_by_one"]),
    ("a bundle is consumed", &["relay_identity::uploaded_prekeys_are_given_one_by_one"]),
    ("unique names", &["registration::a_name_is_unique_whatever_its_case"]),
    (
        "name, capabilities, metadata",
        &[
            "registration::a_name_has_at_most_128_characters",
            "registration::at_most_32_capabilities_and_4_kilobytes_of_metadata",
            "agents::a_patch_refuses_what_is_over_the_limits_and_changes_nothing",
        ],
    ),
    ("error body", &["malformed::a_body_that_is_no_json_is_refused_everywhere"]),
    (
        "SSE and WebSocket",
        &["streams::a_stream_has_the_one_form_that_clients_parse", "websockets::a_key_in_the_header_opens_the_stream"],
    ),
    ("names of options", &[]),
    ("sealed senders keep their DID", &["interop::two_sealed_senders_do_not_mix"]),
    ("versions of sealed", &["interop::the_sealed_members_win_over_the_outer_ones"]),
    ("keys at the service", &["registration::a_registration_without_keys_gets_keys_from_the_service"]),
    ("read-batch", &["mailbox::a_batch_of_read_marks_skips_what_it_does_not_know"]),
    ("invites", &["relay_invites::conflict_24_an_invite_takes_both_spellings_and_only_members_make_one"]),
    (
        "channels",
        &[
            "relay_channels::a_new_channel_has_every_spelling_and_its_maker_owns_it",
            "relay_channels::a_public_channel_is_found_by_topic_and_text_and_a_private_one_never",
        ],
    ),
    ("authors of posts", &["relay_channels::posts_come_back_exactly_and_in_order_with_every_spelling"]),
    (
        "search of capabilities",
        &["relay_capabilities::conflict_27_a_search_answers_under_both_names_to_both_questions"],
    ),
    ("attestations", &["relay_attest::conflict_28_both_spellings_of_the_type_choose_and_items_have_every_field"]),
    (
        "signatures of attestations",
        &[
            "relay_attest::conflict_29_the_service_signs_for_agents_whose_keys_it_holds_and_takes_unsigned_ones",
            "relay_attest::a_wrong_signature_is_400",
            "relay_attest::a_vote_needs_a_signature_over_id_and_word",
        ],
    ),
    ("words of votes", &["relay_attest::conflict_30_one_vote_per_agent_and_none_of_its_own"]),
    ("trust", &["relay_attest::minimum_fields_of_trust_are_there"]),
    ("leaderboard", &["relay_attest::conflict_32_the_leaderboard_takes_both_filters"]),
    ("new tasks", &["relay_tasks::conflict_33_and_36_boxes_of_clients_come_back_to_the_letter"]),
    ("lists of tasks", &["relay_tasks::conflict_34_and_35_lists_have_both_spellings_and_show_the_assignee_first"]),
    ("role of tasks", &["relay_tasks::conflict_34_and_35_lists_have_both_spellings_and_show_the_assignee_first"]),
    ("results of tasks", &["relay_tasks::conflict_33_and_36_boxes_of_clients_come_back_to_the_letter"]),
    ("medium is normal", &["relay_tasks::conflict_33_and_36_boxes_of_clients_come_back_to_the_letter"]),
    ("input of broadcasts", &["relay_tasks::conflict_38_a_broadcast_takes_a_box_that_only_its_sender_opens"]),
    ("memory values", &["relay_memory::conflict_39_a_value_comes_back_to_the_letter"]),
    ("webhook signature", &["relay_webhooks::a_message_reaches_the_receiver_as_the_raw_object_signed_with_the_secret"]),
    (
        "bodies of exports",
        &["relay_life::only_what_is_asked_for_is_exported", "relay_life::an_export_holds_everything_and_is_on_record"],
    ),
    ("keys on public routes", &["relay_transport::conflict_42_a_key_never_matters_where_none_is_needed"]),
    ("channels of one's own", &["relay_channels::conflict_43_mine_needs_a_key_and_shows_private_channels_too"]),
    ("200 and 201", &["relay_transport::conflict_44_what_is_made_is_201_and_the_rest_200"]),
    ("deactivation", &["relay_transport::conflict_45_the_answer_to_a_deactivation_names_the_agent"]),
];

/// Members without which clients crash, or silently lose messages.
const MINIMUM: [Row; 20] = [
    ("did and api_key of a registration", &["registration::a_registration_without_keys_gets_keys_from_the_service"]),
    ("encryption key of an identity", &["agents::an_identity_shows_what_clients_need_to_write_to_the_agent"]),
    ("messages of receive/raw", &["messages::a_message_arrives_with_every_field"]),
    ("messages of a channel", &["relay_channels::posts_come_back_exactly_and_in_order_with_every_spelling"]),
    ("from of a task", &["relay_tasks::conflict_33_and_36_boxes_of_clients_come_back_to_the_letter"]),
    ("envelope as a text", &["messages::an_encrypted_message_arrives_byte_for_byte"]),
    ("sender keys of a raw message", &["messages::sender_keys_are_those_of_the_time_of_sending"]),
    ("id of what was sent and received", &["messages::a_message_arrives_with_every_field"]),
    ("id of channels, posts, invites", &["relay_channels::minimum_fields_of_channels_are_there"]),
    ("id of tasks", &["relay_tasks::conflict_34_and_35_lists_have_both_spellings_and_show_the_assignee_first"]),
    ("id of attestations", &["relay_attest::conflict_28_both_spellings_of_the_type_choose_and_items_have_every_field"]),
    ("did of found agents", &["relay_search::a_did_is_found_whole_and_by_its_beginning"]),
    ("key of memory keys", &["relay_memory::lists_have_every_field_and_take_a_prefix_and_a_limit"]),
    ("relay and stats", &["relay_life::minimum_fields_of_stats_are_there_without_a_key"]),
    ("components and activity of trust", &["relay_attest::minimum_fields_of_trust_are_there"]),
    ("parts of analytics", &["relay_life::minimum_fields_of_analytics_are_there_for_an_agent_that_did_nothing"]),
    ("tasks and broadcast", &["relay_tasks::minimum_fields_of_a_broadcast_without_agents_are_there"]),
    ("agent of a capability", &["relay_capabilities::conflict_27_a_search_answers_under_both_names_to_both_questions"]),
    ("quota of memory", &["relay_memory::minimum_fields_of_memory_are_there_for_an_agent_that_kept_nothing"]),
    ("relay info and peers", &["relay_federation::minimum_fields_of_relay_info_and_peers_are_there"]),
];

fn every_row_of_the_lists_has_its_tests(_: &Suite) {
    let exists = |test: &str| {
        let (module, name) = test.split_once("::").unwrap();
        let cases = MODULES.iter().find(|(known, _)| *known == module).map_or(&[][..], |(_, cases)| cases);
        cases.iter().any(|case| case.name == name)
    };
    for (row, tests) in FACTS.iter().chain(&CONFLICTS).chain(&MINIMUM) {
        assert!(!tests.is_empty() || *row == CONFLICTS[18].0, "{row} has no test");
        for test in *tests {
            assert!(exists(test), "{row}: there is no test {test}");
        }
    }
}
