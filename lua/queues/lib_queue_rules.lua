-- The rules of a queue: what of its settings few queues have, in the field `rules` of its hash.
-- "result_ms=<ms>", or "-" where no result was ever kept; and, if there is more than that, a blank
-- and a table by cmsgpack: order ('strict'), group_concurrency, concurrency, rate and group_rate
-- ({ limit, window_ms, burst }), max_messages, policy ({ name, key }), and was_limited, which says
-- that groups may be blocked though no rule limits them now.

-- The table; nil where there is none.
local function read_rules(text)
  local blank = text:find(' ', 1, true)
  return blank and cmsgpack.unpack(text:sub(blank + 1))
end
