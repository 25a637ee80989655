-- is_unsettled(): whether queue_settle has work to do before a script reads the queue: an instant
-- has passed, and no receive has come since. This module only reads.
local function is_unsettled()
  return is_schedule_due() or redis.call('ZCOUNT', keys[DELAYED], '-inf', instant) > 0
    or redis.call('ZCOUNT', keys[FLIGHT], '0', instant) > 0
    or redis.call('ZCOUNT', keys[GROUPS], '-' .. instant, instant) > 0
end
