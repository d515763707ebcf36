"""What providers do beside their documentation: each quirk has its tests, in the list's own order.

The list is beside the recorded traffic. Its examples are records, which `test_every_record_is_
decoded_as_expected` reads; the tests named here are those that show the quirk by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.adapters.providers.http.generators import READERS
from tests.adapters.providers.http.recorded import FOLDER, needs_records, records

HERE = Path(__file__).parent
LIST = FOLDER / "QUIRKS.md"

SSE = "http/test_same_meaning.py test_an_answer_written_otherwise_means_the_same"
NOTHING_UNKNOWN = "http/test_same_meaning.py test_members_that_nobody_knows_are_not_fatal"
FAILURES = "http/test_failures.py"
CHAT, CHAT_OUT = "openai/test_decode.py", "openai/test_encode.py"
PROFILES = "openai/test_profiles.py"
RESPONSES, RESPONSES_OUT = "openai_responses/test_decode.py", "openai_responses/test_encode.py"
ANTHROPIC, ANTHROPIC_OUT = "anthropic/test_decode.py", "anthropic/test_encode.py"
GEMINI, GEMINI_OUT = "gemini/test_decode.py", "gemini/test_encode.py"
BEDROCK, BEDROCK_OUT = "bedrock/test_decode.py", "bedrock/test_encode.py"
COHERE, OLLAMA = "cohere/test_decode.py", "ollama/test_decode.py"
IS_NONE = "test_decoding.py test_an_answer_that_is_none_is_a_typed_failure"
GOES_BACK = "test_what_the_model_said_goes_back_as_it_came"
PIECES = "test_a_stream_shows_its_pieces_and_then_gives_the_reply"
LAST_CALL = "test_where_the_answer_was_cut_the_last_call_is_not_taken_for_one_without_arguments"
CUT_CALL = "test_a_call_that_was_cut_off_is_not_taken_for_whole"

QUIRKS: Mapping[str, tuple[str, ...]] = {
    # Framing
    "comments between the events": (SSE,),
    "lines that end in CR LF": (SSE,),
    "end marks that are missing, or there against the rules": (
        SSE,
        f"{CHAT} test_a_stream_has_ended_with_its_reason_or_with_its_mark",
        f"{COHERE} test_a_mark_after_the_end_does_no_harm",
    ),
    "events without a name": (SSE, f"{RESPONSES} {PIECES}"),
    "a stream that ends in an event of another kind": (IS_NONE,),
    "error bodies of every shape, under every content type": (
        f"{FAILURES} test_every_shape_of_error_body_is_read",
        "http/test_caller.py test_an_answer_is_read_by_content_not_by_its_declared_type",
    ),
    "errors under status 200, and no choices": (
        f"{FAILURES} test_an_error_under_status_200_is_read_from_its_body",
        IS_NONE,
    ),
    "one cause, many statuses": (
        f"{FAILURES} test_the_provider_has_the_last_word_about_another_try",
        f"{FAILURES} test_status_and_body_together_give_the_cause",
    ),
    # Chat Completions
    "content that is null": (f"{CHAT} test_calls_come_beside_empty_content",),
    "the reason stop beside calls": (f"{CHAT} test_the_reason_is_decided_on_what_came",),
    "usage after the end, or never": (
        f"{CHAT} test_usage_is_found_wherever_it_stands",
        f"{CHAT} test_a_stream_may_have_no_usage",
    ),
    "what Azure adds": (f"{CHAT} test_what_servers_add_does_no_harm",),
    "padding": (NOTHING_UNKNOWN, f"{CHAT} test_what_servers_add_does_no_harm"),
    "calls in pieces, cut off, and without JSON": (
        f"{CHAT} test_pieces_of_calls_find_their_call",
        f"{CHAT} {LAST_CALL}",
        f"{CHAT} test_the_text_of_a_custom_call_is_its_only_argument",
    ),
    "several instructions, refusals, several choices": (
        f"{CHAT_OUT} test_each_kind_of_message_has_its_form",
        f"{CHAT} test_a_refusal_is_the_text_and_the_reason",
        f"{CHAT} test_only_the_first_of_several_choices_is_followed",
    ),
    "forms of the history, and two names for one limit": (
        f"{CHAT_OUT} test_each_kind_of_message_has_its_form",
        f"{PROFILES} test_options_have_the_names_that_the_server_knows",
    ),
    "reasoning counts as completion": (f"{CHAT} test_usage_has_one_shape_for_all",),
    # Responses
    "two ids of a call; thoughts that must go back": (
        f"{RESPONSES} test_results_go_by_the_id_of_the_call_not_by_that_of_its_item",
        f"{RESPONSES} {GOES_BACK}",
        f"{RESPONSES_OUT} test_options_stand_in_the_body",
    ),
    "thoughts without a summary": (
        f"{RESPONSES} test_an_empty_thought_is_kept",
        f"{RESPONSES} test_thoughts_are_read_from_wherever_they_are_told",
    ),
    "phases, and several messages": (f"{RESPONSES} {GOES_BACK}",),
    "ends of every kind, some without what came before": (
        f"{RESPONSES} test_the_last_event_wins_over_the_items_before_it",
        f"{RESPONSES} test_every_reason_is_mapped_and_the_status_kept",
        IS_NONE,
    ),
    "strange events and items, and work in the background": (
        SSE,
        f"{RESPONSES} test_a_response_in_the_background_is_an_answer_without_content",
        f"{RESPONSES} {CUT_CALL}",
        f"{RESPONSES} test_a_refusal_is_the_text_and_the_reason",
        f"{RESPONSES} {GOES_BACK}",
    ),
    "forms of the input, and chains": (
        f"{RESPONSES_OUT} test_each_kind_of_part_has_its_item",
        f"{RESPONSES_OUT} test_a_chain_names_the_last_answer_and_sends_what_came_after_it",
    ),
    # Anthropic
    "pings and strange events anywhere": (SSE, f"{ANTHROPIC} {PIECES}"),
    "counts that are told again": (f"{ANTHROPIC} test_the_last_count_holds",),
    "calls without arguments, or with all of them at the start": (
        f"{ANTHROPIC} {PIECES}",
        f"{ANTHROPIC} test_arguments_may_come_at_the_start_of_a_call",
    ),
    "thoughts that are empty but signed, or redacted": (
        f"{ANTHROPIC} {GOES_BACK}",
        f"{ANTHROPIC} test_a_stream_goes_back_as_a_whole_message_does",
    ),
    "all results in one message, before all else": (
        f"{ANTHROPIC_OUT} test_all_results_of_a_turn_stand_in_one_message_before_all_else",
        f"{ANTHROPIC_OUT} test_each_kind_of_part_has_its_block",
    ),
    "answers of nothing, and reasons to stop": (
        f"{ANTHROPIC_OUT} test_an_answer_without_content_is_not_sent_back",
        f"{ANTHROPIC} test_every_reason_is_mapped_and_kept",
        f"{ANTHROPIC} test_a_refusal_keeps_its_details",
    ),
    "tools that run at the provider": (
        f"{ANTHROPIC} {GOES_BACK}",
        f"{ANTHROPIC_OUT} test_code_goes_on_in_the_container_in_which_it_ran",
        f"{ANTHROPIC_OUT} test_instructions_stand_apart_and_later_ones_in_their_place",
    ),
    "betas": ("anthropic/test_chat.py test_betas_are_asked_for_in_a_header",),
    # Gemini
    "calls with and without ids and arguments": (
        f"{GEMINI} test_calls_come_with_and_without_ids_and_arguments",
    ),
    "reasons beside calls, and reasons nobody knows": (
        f"{GEMINI} test_a_call_that_came_is_one_whatever_the_reason",
        f"{GEMINI} test_every_reason_is_kept_and_read",
    ),
    "signatures on calls, texts and nothing": (
        f"{GEMINI} test_signatures_and_what_only_google_understands_are_given_back_in_place",
    ),
    "answers without candidates, content, parts or text": (
        f"{GEMINI} test_an_answer_may_hold_nothing",
        f"{GEMINI} test_a_blocked_prompt_is_a_filtered_answer",
    ),
    "usage in each piece, thoughts apart": (f"{GEMINI} test_the_last_usage_counts",),
    "a stream that is a list; results of one turn together": (
        f"{GEMINI} test_a_stream_may_be_one_list",
        f"{GEMINI_OUT} test_the_results_of_one_turn_are_one_content",
    ),
    "a wait that is told in the body": (
        f"{FAILURES} test_google_says_in_the_body_how_long_to_wait",
    ),
    # Bedrock
    "texts without a start, counts after the end, padding": (f"{BEDROCK} {PIECES}",),
    "arguments as an object or in pieces; results together": (
        f"{BEDROCK} {PIECES}",
        f"{BEDROCK_OUT} test_the_roles_take_turns_and_results_come_first",
        f"{BEDROCK_OUT} test_each_kind_of_part_has_its_block",
    ),
    "counts told twice or not at all, guardrails, redacted thoughts": (
        f"{BEDROCK} test_a_whole_answer_is_read",
        f"{BEDROCK} test_an_answer_without_usage_is_an_answer",
        f"{BEDROCK} test_every_reason_is_mapped_and_kept",
        f"{BEDROCK} {GOES_BACK}",
    ),
    "encoded names of models, and errors named in a header": (
        "bedrock/test_signing.py test_a_path_that_is_encoded_is_encoded_once_more",
        f"{FAILURES} test_the_name_of_an_error_of_aws_is_in_a_header",
    ),
    # Those who speak like OpenAI
    "Mistral: no calls, and content in parts": (
        f"{CHAT} test_no_calls_are_no_calls",
        f"{CHAT} test_calls_come_beside_empty_content",
        f"{CHAT} test_reasoning_in_the_content_is_taken_out_of_the_text",
    ),
    "Mistral: calls at one go, ids of nine characters, an OK after results": (
        f"{CHAT} test_calls_without_ids_are_told_apart_by_their_names",
        f"{CHAT} test_usage_is_found_wherever_it_stands",
        f"{PROFILES} test_mistral_gets_ids_of_nine_characters",
        f"{PROFILES} test_mistral_hears_an_ok_between_a_result_and_a_user",
    ),
    "Groq: no content, null for arguments, usage twice, thoughts in three places": (
        f"{CHAT} test_calls_come_beside_empty_content",
        f"{CHAT} test_no_arguments_are_an_empty_object",
        f"{CHAT} test_usage_is_found_wherever_it_stands",
        f"{CHAT} test_think_tags_in_the_text_stay_there",
    ),
    "Cohere: capitals, errors at the end, plans, two versions": (
        f"{COHERE} test_every_reason_is_kept_and_read",
        IS_NONE,
        f"{COHERE} test_the_plan_behind_calls_is_kept_and_given_back",
        f"{COHERE} test_no_arguments_are_an_empty_object",
        f"{COHERE} test_answers_of_version_1_are_read",
    ),
    "Ollama: lines, objects for arguments, ids on newer servers": (
        f"{OLLAMA} test_calls_have_objects_as_arguments_and_ids_on_newer_servers",
        f"{OLLAMA} test_a_prompt_that_was_cached_is_not_counted",
        f"{OLLAMA} test_every_reason_is_kept_and_read",
        IS_NONE,
    ),
    "OpenRouter: reasons told twice, errors after the end": (
        f"{CHAT} test_usage_is_found_wherever_it_stands",
        IS_NONE,
    ),
    "OpenRouter: details of reasoning in fragments": (
        f"{CHAT} test_fragments_of_reasoning_details_are_joined",
        f"{CHAT} test_details_that_come_whole_are_left_as_they_are",
    ),
    "reasoning under three names": (
        f"{CHAT} test_reasoning_is_kept_and_given_back_in_the_member_in_which_it_came",
        f"{PROFILES} test_reasoning_is_given_back_in_members_that_the_server_knows",
        f"{CHAT} test_think_tags_in_the_text_stay_there",
    ),
    "calls without ids, empty lists of calls, calls told again and again": (
        f"{CHAT} test_calls_without_ids_are_told_apart_by_their_names",
        f"{CHAT} test_no_calls_are_no_calls",
        f"{CHAT} test_pieces_of_calls_find_their_call",
    ),
    "usage in each piece, with reasoning or without": (
        f"{CHAT} test_usage_has_one_shape_for_all",
        f"{FAILURES} test_status_and_body_together_give_the_cause",
    ),
}


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests in a file."""
    return frozenset(re.findall(r"^def (test_\w+)", (HERE / path).read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("quirk", QUIRKS)
def test_a_quirk_has_tests_of_its_own(quirk: str) -> None:
    """Those that are named are there."""
    for named in QUIRKS[quirk]:
        path, name = named.split()
        assert name in names_in(path), named


@needs_records
def test_every_quirk_of_the_list_is_here() -> None:
    """One for each box, in its order."""
    assert len(boxes()) == len(QUIRKS)


@needs_records
@pytest.mark.parametrize("place", range(len(QUIRKS)))
def test_the_examples_of_a_quirk_are_among_the_records_that_are_read(place: int) -> None:
    """They stand in the list by their ids."""
    for example in re.findall(r"`([0-9a-f]{16})`", boxes()[place]):
        assert example in known_ids()


def boxes() -> list[str]:
    """The quirks of the list."""
    return re.findall(r"^- \[ \] (.*)", LIST.read_text(encoding="utf-8"), re.MULTILINE)


@cache
def known_ids() -> frozenset[str]:
    """The ids of all records."""
    return frozenset(record["id"] for name in READERS for record in records(name))
