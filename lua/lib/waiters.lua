-- The wait queue of one resource: first come, first served over all daemons. Needs lib/time.lua and
-- lib/wake.lua.
--   waiters  sorted set: ticket by arrival. It lives as long as any of its waiters can wait
--   offer    "<ticket> <until_ms>": the resource was offered to the first waiter. When it does not
--            come in time its daemon has died, and all tickets of that instance are dropped: no
--            heartbeats. Should the daemon be alive, it receives a message about the drop, and its
--            waiters join again
-- A ticket is "<instance_id>.<number>.<mode>", the instance 16 hex digits; the mode is the
-- resource's.
local OFFER_MS, WAITERS_MS, INSTANCE_DIGITS = 1000, 62000, 16

-- waiters_read(channel, waiters, offer, now, asking): the wait queue once it is settled: head (nil:
-- it is empty), offered_until (0: not offered to that head). `asking` is the ticket of the request,
-- '' for none: its own offer does not lapse, nor is its daemon dead. Writes nothing. O(1),
-- O(waiters) when an offer has lapsed.
local function waiters_read(channel, waiters_key, offer_key, now, asking)
  local w = { channel = channel, waiters_key = waiters_key, offer_key = offer_key, offered_until = 0, dropped = {} }
  w.head = redis.call('ZRANGE', waiters_key, '0', '0')[1]
  if not w.head and asking == '' then
    return w
  end
  local ticket, until_ms = string.match(redis.call('GET', offer_key) or '', '^(%S+) (%d+)$')
  if not ticket or ticket ~= w.head then
    return w
  end
  w.offered_until = tonumber(until_ms)
  if w.offered_until > now or ticket == asking then
    return w
  end
  w.head, w.offered_until, w.dead_instance = nil, 0, string.sub(ticket, 1, INSTANCE_DIGITS)
  local is_alive = string.sub(asking, 1, INSTANCE_DIGITS) == w.dead_instance
  for _, t in ipairs(redis.call('ZRANGE', waiters_key, '0', '-1')) do
    if t == ticket or (not is_alive and string.sub(t, 1, INSTANCE_DIGITS) == w.dead_instance) then
      w.dropped[#w.dropped + 1] = t
    else
      w.head = w.head or t
    end
  end
  return w
end

-- waiters_settle(w): drops the tickets of a dead instance. Before any other change of the wait
-- queue.
local function waiters_settle(w)
  if not w.dead_instance then
    return
  end
  for i = 1, #w.dropped, 1000 do
    redis.call('ZREM', w.waiters_key, unpack(w.dropped, i, math.min(i + 999, #w.dropped)))
  end
  redis.call('DEL', w.offer_key) -- a ticket that joins again has no offer
  publish(w.channel, '!' .. w.dead_instance .. ' -1')
  w.dropped, w.dead_instance = {}, nil
end

-- waiters_join(w, ticket, now_us): to the end of the wait queue, unless it is in it already.
local function waiters_join(w, ticket, now_us)
  local last = redis.call('ZRANGE', w.waiters_key, '-1', '-1', 'WITHSCORES')[2]
  redis.call('ZADD', w.waiters_key, 'NX', digits(math.max(now_us, tonumber(last or 0) + 1)), ticket)
  redis.call('PEXPIRE', w.waiters_key, WAITERS_MS)
  w.head = w.head or ticket
end

-- waiters_leave(w, ticket): out of the wait queue.
local function waiters_leave(w, ticket)
  if redis.call('ZREM', w.waiters_key, ticket) == 0 or w.head ~= ticket then
    return
  end
  w.head = redis.call('ZRANGE', w.waiters_key, '0', '0')[1]
  if w.offered_until > 0 then
    redis.call('DEL', w.offer_key)
    w.offered_until = 0
  end
end

-- waiters_offer(w, now): offers the resource to the first waiter, unless it has the offer. It has
-- OFFER_MS to come.
local function waiters_offer(w, now)
  if w.head and w.offered_until == 0 then
    w.offered_until = now + OFFER_MS
    redis.call('SET', w.offer_key, w.head .. ' ' .. digits(w.offered_until), 'PX', WAITERS_MS)
    publish(w.channel, '@' .. w.head .. ' ' .. digits(OFFER_MS))
  end
end

-- waiters_hold(w, now, wait_ms): the first waiter came, but cannot go on before something else
-- happens. It keeps the offer for as long as it may wait, and for its last attempt.
local function waiters_hold(w, now, wait_ms)
  w.offered_until = now + wait_ms + OFFER_MS
  redis.call('SET', w.offer_key, w.head .. ' ' .. digits(w.offered_until), 'PX', WAITERS_MS)
end
