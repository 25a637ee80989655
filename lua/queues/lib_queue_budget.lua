-- budget_of(rules): what the rules `concurrency` and `rate` leave: how many messages may be handed
-- out now; the instant, in ms, from which there may be more without another change; what is stored
-- of the rate; and whether `concurrency` sets the limit.
local function budget_of(rules)
  local budget, opens_at, rate_stored = math.huge, math.huge, nil
  local is_concurrency_spent = false
  if rules.concurrency then
    budget = math.max(0, rules.concurrency - redis.call('ZCOUNT', keys[FLIGHT], '(' .. instant, '+inf'))
    is_concurrency_spent = true
  end
  if rules.rate then
    rate_stored = redis.call('ZSCORE', keys[GROUPS], 'q')
    local room = rate_room(rules.rate, rate_stored)
    if room < budget then
      budget, is_concurrency_spent = math.max(0, room), false
      opens_at = math.max(math.ceil(rate_opens_at(rules.rate, rate_stored) / 1000), now + 1)
    end
  end
  return budget, opens_at, rate_stored, is_concurrency_spent
end
