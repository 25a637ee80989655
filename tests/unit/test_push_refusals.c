/* Tests of push_refusals: when an answer of 429 or 503 is about its message. */
#include <stdio.h>

#include "push/push_refusals.h"
#include "test.h"

static struct push_refusals refusals;

static int clear(void **state)
{
	refusals = (struct push_refusals){ 0 };
	return 0;
}

SUITE(.after = clear);

TEST(a_busy_program_is_no_fault_of_a_message)
{
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(push_refusals_note(&refusals, TEXT("a"), 7), 0);
		assert_int_equal(push_refusals_note(&refusals, TEXT("b"), 7), 0);
	}
}

TEST(a_message_that_is_refused_while_others_are_done)
{
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(push_refusals_note(&refusals, TEXT("a"), i), i);
	assert_int_equal(push_refusals_note(&refusals, TEXT("b"), 1000), 0);
	assert_int_equal(push_refusals_note(&refusals, TEXT("a"), 999), 999);
}

TEST(an_id_is_forgotten_with_its_message)
{
	push_refusals_note(&refusals, TEXT("a"), 1);
	push_refusals_note(&refusals, TEXT("b"), 1);
	push_refusals_note(&refusals, TEXT("a"), 2);
	push_refusals_forget(&refusals, TEXT("a"));
	push_refusals_forget(&refusals, TEXT("unknown"));
	assert_int_equal(push_refusals_note(&refusals, TEXT("a"), 3), 0);
	assert_int_equal(push_refusals_note(&refusals, TEXT("b"), 3), 1);
}

TEST(the_latest_are_kept)
{
	char id[16];

	push_refusals_note(&refusals, TEXT("first"), 0);
	for (int i = 0; i < PUSH_REFUSALS_MOST - 1; i++) {
		snprintf(id, sizeof(id), "%d", i);
		push_refusals_note(&refusals, text_of(id), 0);
	}
	assert_int_equal(push_refusals_note(&refusals, TEXT("first"), 1), 1); /* it is the latest now */
	push_refusals_note(&refusals, TEXT("one more"), 1);
	assert_int_equal(push_refusals_note(&refusals, TEXT("0"), 1), 0);
	assert_int_equal(push_refusals_note(&refusals, TEXT("first"), 2), 2);
}
