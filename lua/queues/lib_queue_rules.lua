-- The rules of a queue: the settings that few queues have, in the field `rules` of its hash. The
-- field is "result_ms=<ms>", or "-" if no result was ever kept. If there is more, a blank follows,
-- and a table by cmsgpack: order ('strict'), group_concurrency, concurrency, rate and group_rate ({
-- limit, window_ms, burst }), max_messages, policy ({ name, key }), delay_ms and ttl_ms (of
-- messages that are sent without them), wait_ms (of receives without it), dead_letter_queue (a
-- name), dedupe_by_body (1: sends may have it), dedupe_scope ('group'), max_message_bytes, and
-- was_limited, which means that groups may be blocked though no rule limits them now.

-- read_rules(text): the table; nil without one.
local function read_rules(text)
  local blank = text:find(' ', 1, true)
  return blank and cmsgpack.unpack(text:sub(blank + 1))
end
