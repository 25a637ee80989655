#!/usr/bin/env bash
# A small shop that uses patternd, in shell with curl and jq. What it shows is in
# ../README.md.
set -euo pipefail
base=${PATTERND_URL:-http://127.0.0.1:8379}

# call METHOD PATH [BODY [CODES [HEADER]]] leaves the answer in $answer, and nothing in $problem; or
# the problem in $answer and its code in $problem, with $retry_after, when it is one of CODES.
#
# While patternd or its Redis is away (503: nothing happened; 504, or no answer: unknown) it
# asks again. By the same Idempotency-Key what happened already does not happen twice: the first
# answer comes again.
call() {
	local key status
	key=$(cat /proc/sys/kernel/random/uuid)
	for _ in 1 2 3 4 5; do
		answer=$(curl -sS --max-time 30 -X "$1" -H "Idempotency-Key: $key" -H "${5:-Lock-Token:}" ${3:+--json "$3"} \
			-w '\n%{http_code} %header{retry-after}' "$base$2") || true
		read -r status retry_after <<<"${answer##*$'\n'}"
		answer=${answer%$'\n'*}
		problem=
		[[ $status == 2* ]] && return
		problem=$(jq -r '.code // empty' <<<"$answer")
		[[ $problem && " ${4:-} " == *" $problem "* ]] && return
		case $status in
		000 | 503 | 504) sleep "${retry_after:-1}" ;;
		*) break ;;
		esac
	done
	echo "$1 $2: $(jq -r '.detail // "no answer"' <<<"$answer")" >&2
	exit 1
}

# The lock of ann's cart, so that two clicks in two tabs do not make two orders.
take_cart() {
	call POST /locks/cart-ann "{\"owner\":\"$1\",\"ttl_ms\":10000}" lock_held
	[ ! "$problem" ] || echo "checkout: $1 has to wait, $(jq -r '.holders[0].owner' <<<"$answer") is at it"
}

give_cart_back() {
	call DELETE /locks/cart-ann '' not_holder "Lock-Token: $1" # not_holder: it had expired
}

# place_order TAB FENCE: a holder that was suspended until another client got the lock has a fence that is too low by
# now, and is refused.
place_order() {
	call POST /fences/cart-ann "{\"fence\":$2}" stale_fence
	if [ "$problem" ]; then
		echo "checkout: $1 comes too late, its fence is stale"
		return
	fi
	call POST /counters/shop/increment '{"counters":{"orders":1}}'
	order=$(jq .counters.orders <<<"$answer")
	# A real shop waits half an hour for the money.
	call POST /queues/unpaid/messages "{\"id\":\"order-$order\",\"body\":{\"order\":$order},\"delay_ms\":500}"
	echo "checkout: $1 placed order $order"
}

# A worker waits for a message, works, and acknowledges. Should it die before that, another one gets
# the message.
work() {
	local message
	call POST /queues/unpaid/receive '{"wait_ms":20000}'
	while read -r message; do
		echo "worker: order $(jq .body.order <<<"$message") was not paid in time"
		call DELETE "/queues/unpaid/deliveries/$(jq -r .receipt <<<"$message")" '' receipt_expired # it was too slow
	done < <(jq -c '.messages[]' <<<"$answer")
}

# Three in a row, and then one in three seconds.
comment() {
	local limit='{"key":"ann:comment","limit":20,"window_ms":60000,"burst":3}'
	while call POST /ratelimit "$limit" rate_limited && [ "$problem" ]; do
		echo "comment $1: not yet"
		sleep "$retry_after"
	done
	echo "comment $1: sent"
}

take_cart "tab 1"
first=$answer
take_cart "tab 2"
place_order "tab 1" "$(jq .fence <<<"$first")"
paid=$order
give_cart_back "$(jq -r .token <<<"$first")"
take_cart "tab 2"
second=$answer
place_order "tab 2" "$(jq .fence <<<"$second")"
place_order "tab 1" "$(jq .fence <<<"$first")"
give_cart_back "$(jq -r .token <<<"$second")"
call DELETE "/queues/unpaid/messages/order-$paid" '' 'not_found message_in_flight'
echo "payment: $([ "$problem" ] && echo too late || echo in time) for order $paid"
work
for number in 1 2 3 4; do comment $number; done
call POST /geo/couriers/members '{"members":[{"member":"bea","longitude":13.3889,"latitude":52.5170},
	{"member":"cem","longitude":13.4050,"latitude":52.5200},{"member":"dan","longitude":13.0645,"latitude":52.3906}]}'
call GET '/geo/nearby?name=couriers&longitude=13.3777&latitude=52.5163&radius=5&unit=km'
jq -r '.items[] | "courier: \(.member) is \(.distance * 10 | round / 10) km away"' <<<"$answer"
call POST /uv/shop '{"visitors":["ann","bob","ann"]}'
call GET /uv/shop
echo "visitors: $(jq .count <<<"$answer") today"
