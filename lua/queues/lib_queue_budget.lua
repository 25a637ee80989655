-- What the rules `concurrency` and `rate` leave: `budget`, how many messages may be handed out now,
-- and `opens_at`, the instant, in ms, at which time alone makes it more. This part must not know
-- which messages these are. Needs `rules`, which must exist, and queues/lib_queue_rate.lua.
local budget, opens_at, rate_stored = math.huge, math.huge, nil
local is_concurrency_spent = false
if rules.concurrency then
  budget = math.max(0, rules.concurrency - redis.call('ZCOUNT', flight_key, '(' .. instant, '+inf'))
  is_concurrency_spent = true
end
if rules.rate then
  rate_stored = redis.call('ZSCORE', groups_key, 'q')
  local room = rate_room(rules.rate, rate_stored)
  if room < budget then
    budget, is_concurrency_spent = math.max(0, room), false
    opens_at = math.max(math.ceil(rate_opens_at(rules.rate, rate_stored) / 1000), now + 1)
  end
end
