-- Which waiter gets a message.

-- serve(w): calls as many waiters as there are messages for, and lets one look when there may be
-- more. Call it after any change. The number at the end of a ticket is how many messages it takes.
-- The rules of the queue decide which messages may be handed out. If `concurrency` leaves too few,
-- the script that ends a delivery serves the waiters (`full`). A paused queue serves no waiter,
-- nor does a queue that is held for its policy; one waiter looks when that ends. If there are dead
-- letters to move, one waiter looks in a second, or when they may be moved next, if that is later.
local function serve(w)
  if not w.head then
    return
  end
  local settings =
    redis.call('HMGET', keys[QUEUE], 'paused', 'schedule_at', 'rules', 'group_paused_until', 'full', 'held_until')
  local held_until = math.max(pause_end(settings[1]), tonumber(settings[6] or 0))
  if held_until > now then
    waiters_watch(w, held_until)
    return
  end
  local function wants(ticket)
    return tonumber(string.match(ticket, '%d+$')) or 1
  end
  local ready, look_at = redis.call('ZCARD', keys[READY]), settings[2] or math.huge
  local was_full, is_spent = settings[5], false
  if settings[3] or settings[4] then
    local rules = settings[3] and read_rules(settings[3]) or {}
    local budget, opens_at, _, is_concurrency_spent = budget_of(rules)
    if ready > budget then
      ready, is_spent = budget, is_concurrency_spent
      look_at = math.min(look_at, opens_at)
    end
    local held = redis.call('ZRANGE', keys[GROUPS], '0', '(100000000000000', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')
    look_at = math.min(look_at, held[2] or math.huge)
    local dead = rules.dead_letter_queue and redis.pcall('ZCARD', keys[DEAD]) or 0 -- pcall: writes were made before it
    if type(dead) == 'number' and dead > 0 then
      look_at = math.min(look_at, math.max(tonumber(redis.call('HGET', keys[QUEUE], 'move_at') or 0), now + 1000))
    end
  end
  for _, ticket in ipairs(w.called) do
    ready = ready - wants(ticket)
  end
  while ready > 0 and w.head do
    ready = ready - wants(waiters_offer(w))
  end
  if w.head and is_spent and not was_full then
    redis.call('HSET', keys[QUEUE], 'full', '1')
  elseif was_full and not (w.head and is_spent) then
    redis.call('HDEL', keys[QUEUE], 'full')
  end
  if not w.head then
    return
  end
  local delayed = redis.call('ZRANGE', keys[DELAYED], '0', '0', 'WITHSCORES')[2]
  local back = redis.call('ZRANGE', keys[FLIGHT], '0', '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')[2]
  waiters_watch(w, math.min(delayed or math.huge, back or math.huge, look_at))
end
