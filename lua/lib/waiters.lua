-- The wait queue of one resource: first come, first served over all daemons. It must not know what
-- the resource is.
--   waiters  sorted set, which lives as long as any of its waiters can wait:
--              <ticket>   a waiter, by its arrival, Unix us
--              o<ticket>  the offer to a waiter that was called, by the end of the offer, Unix ms
--              w<ticket>  a watcher, by the instant at which its daemon tries again, Unix ms
-- A ticket is "<instance_id>.<number>.<mode>". The instance has 16 hex digits; the resource defines
-- the mode. Each daemon has its own sharded channel for each resource that it waits for, "<first
-- key>@<instance_id>", in the slot of the key. It receives there
--   "<number> <ms>"  this ticket should try again in so many ms
--   "!"              its tickets were dropped: all should join again
--   "! <ms>"         all its tickets should try again in so many ms
-- So a change wakes one waiter, however many wait. If a called ticket does not try again before its
-- offer ends, or a watcher is OFFER_MS late, its daemon is taken for dead, and all its tickets are
-- dropped: heartbeats are not needed. If the daemon is alive, its waiters join again at their old
-- places. A message that no connection received was for a daemon that died, or for one that is
-- subscribing again and will then try all of its tickets. So such an offer lasts only UNHEARD_MS,
-- and such a daemon does not become a watcher.
local OFFER_MS, UNHEARD_MS, PROBE_MS, WAITERS_MS = 1000, 200, 200, 62000
local ARRIVALS = 100000000000000 -- marks are below it, until the year 5138
local WAITING = format('%d', ARRIVALS)

local function waiters_instance(member)
  return string.match(member, '^[ow]?(%x+)%.%x') -- no mark is a hex digit
end

-- waiters_publish(channel, instance, message): publishes to one daemon. Returns how many
-- connections received it. An error is returned, not raised: a user without permission for the
-- channels must not turn finished work into an error (the daemon logs subscription_refused).
local function waiters_publish(channel, instance, message)
  local own = channel .. '@' .. instance
  return redis.pcall('SPUBLISH', own, message)
end

-- waiters_tell(channel, ticket, in_ms): asks a ticket to try again in in_ms. Returns false when no
-- connection received it.
local function waiters_tell(channel, ticket, in_ms)
  local instance, number = string.match(ticket, '^(%x+)%.(%x+)')
  return waiters_publish(channel, instance, number .. ' ' .. format('%d', in_ms)) ~= 0
end

-- waiters_since(): the score from which on a ticket can still wait. An older ticket is of a daemon
-- that died while no waiter was called.
local function waiters_since()
  return format('%d', now_us - WAITERS_MS * 1000)
end

-- waiters_count(key): the number of waiters. O(log waiters).
local function waiters_count(key)
  local all = redis.call('ZCOUNT', key, WAITING, '+inf')
  return all > 0 and redis.call('ZCOUNT', key, waiters_since(), '+inf') or 0
end

-- waiters_find_head(w): finds the first waiter that was not called. A negative count of LIMIT means
-- no limit.
local function waiters_find_head(w)
  local count = next(w.dead) and -1 or #w.called + #w.late + 1
  w.head = nil
  for _, ticket in ipairs(redis.call('ZRANGE', w.key, WAITING, '+inf', 'BYSCORE', 'LIMIT', '0', format('%d', count))) do
    if not w.until_of[ticket] and not w.late[ticket] and not w.dead[waiters_instance(ticket)] then
      w.head = ticket
      return
    end
  end
end

-- waiters_read(channel, key, now, asking): the wait queue as it is once it is settled: head (the
-- first waiter that was not called, nil without one), is_called (whether the ticket of the request
-- was called), called (the other called tickets), until_of (when each of their offers ends),
-- watchers. `asking` is the ticket of the request, '' for none: its own offer does not lapse, and
-- its daemon is not dead. Writes nothing. O(log waiters + called), O(waiters) when a daemon has
-- died.
local function waiters_read(channel, key, now, asking)
  local w = {
    channel = channel, key = key, now = now, asking = asking, called = {}, until_of = {}, watchers = {},
    gone = {}, late = {}, dead = {},
  }
  local asker, tickets = waiters_instance(asking), {}

  local function note(mark, at_ms, instance)
    local is_call, ticket = string.sub(mark, 1, 1) == 'o', string.sub(mark, 2)
    local is_late = (is_call and at_ms or at_ms + OFFER_MS) <= now
      or is_call and at_ms > now + WAITERS_MS -- Redis's clock was set back
    if ticket == asking then
      w.is_called = w.is_called or is_call
      w.gone[#w.gone + 1] = mark
    elseif not is_late and is_call then
      w.called[#w.called + 1], w.until_of[ticket] = ticket, at_ms
    elseif not is_late then
      w.watchers[#w.watchers + 1] = { ticket = ticket, at_ms = at_ms }
    elseif instance ~= asker then
      w.dead[instance] = true
    else
      -- The daemon that asks is alive: only the waiter that missed its offer is dropped.
      w.gone[#w.gone + 1] = mark
      if is_call then
        w.late[#w.late + 1], w.late[ticket] = ticket, true
        w.gone[#w.gone + 1] = 'w' .. ticket
      end
    end
  end
  -- Most wait queues have few marks: one command reads them and the first tickets.
  local from, page = 0, nil
  repeat
    page = redis.call('ZRANGE', key, format('%d', from), format('%d', from + 15), 'WITHSCORES')
    for i = 1, #page, 2 do
      local instance, score = waiters_instance(page[i]), tonumber(page[i + 1])
      if not instance then
        error(redis.error_reply('WRONGTYPE ' .. key .. ' holds a sorted set that is not a wait queue'))
      elseif score < ARRIVALS then
        note(page[i], score, instance)
      else
        tickets[#tickets + 1] = page[i]
      end
    end
    from = from + 16
  until #page < 32 or tickets[1]

  if next(w.dead) or w.late[1] then
    local called, watchers = w.called, w.watchers
    w.called, w.watchers = {}, {}
    for _, ticket in ipairs(called) do
      if w.dead[waiters_instance(ticket)] then
        w.until_of[ticket] = nil
      else
        w.called[#w.called + 1] = ticket
      end
    end
    for _, watcher in ipairs(watchers) do
      if not w.dead[waiters_instance(watcher.ticket)] and not w.late[watcher.ticket] then
        w.watchers[#w.watchers + 1] = watcher
      end
    end
  end
  for _, ticket in ipairs(tickets) do
    if not w.until_of[ticket] and not w.late[ticket] and not w.dead[waiters_instance(ticket)] then
      w.head = ticket
      return w
    end
  end
  if #page == 32 then
    waiters_find_head(w)
  end
  return w
end

-- waiters_settle(w): drops the tickets of daemons that died. A daemon that is alive receives this,
-- and its waiters join again. Call it before any other change of the wait queue.
local function waiters_settle(w)
  if not w.gone[1] and not next(w.dead) then
    return
  elseif not w.late[1] and not next(w.dead) then
    redis.call('ZREM', w.key, unpack(w.gone))
    w.gone = {}
    return
  end
  for _, ticket in ipairs(w.late) do
    w.gone[#w.gone + 1] = ticket
    waiters_tell(w.channel, ticket, 0)
  end
  local members = next(w.dead) and redis.call('ZRANGE', w.key, '0', '-1') or {}
  for _, member in ipairs(members) do
    if w.dead[waiters_instance(member)] then
      w.gone[#w.gone + 1] = member
    end
  end
  for i = 1, #w.gone, 1000 do
    redis.call('ZREM', w.key, unpack(w.gone, i, math.min(i + 999, #w.gone)))
  end
  for instance in pairs(w.dead) do
    if waiters_publish(w.channel, instance, '!') ~= 0 then
      w.left = members -- of these, some may have vanished as well
    end
  end
  w.gone, w.late, w.dead = {}, {}, {}
end

-- waiters_is_next(w, now_us, waited_us): whether no waiter that was not called is before the
-- request.
local function waiters_is_next(w, now_us, waited_us)
  if not w.head or w.head == w.asking or waited_us == 0 then
    return not w.head or w.head == w.asking
  end
  local arrival = redis.call('ZSCORE', w.key, w.asking) or now_us - waited_us -- it was dropped
  return tonumber(arrival) < tonumber(redis.call('ZSCORE', w.key, w.head))
end

-- waiters_has_turn(w, waited_us): whether the request was called, or is next and no one is called.
local function waiters_has_turn(w, waited_us)
  return w.is_called or not w.called[1] and waiters_is_next(w, now_us, waited_us)
end

-- waiters_join(w, now_us, waited_us): the ticket of the request joins the wait queue, behind the
-- tickets that came before. A ticket that was dropped keeps its place.
local function waiters_join(w, now_us, waited_us)
  local arrival = now_us - waited_us
  if waited_us == 0 and (w.head or w.called[1]) then -- Redis's clock may have been set back
    local last = redis.call('ZRANGE', w.key, '-1', '-1', 'WITHSCORES')[2]
    arrival = math.max(arrival, tonumber(last) + 1)
  end
  redis.call('ZADD', w.key, 'NX', format('%d', arrival), w.asking)
  redis.call('PEXPIRE', w.key, WAITERS_MS)
  if not w.head then
    w.head = w.asking
  elseif waited_us > 0 then
    waiters_find_head(w)
  end
end

-- waiters_leave(w): the ticket of the request leaves the wait queue.
local function waiters_leave(w)
  if redis.call('ZREM', w.key, w.asking) > 0 and w.head == w.asking then
    waiters_find_head(w)
  end
end

-- waiters_call(w, ticket, until_ms): offers the resource to the ticket until that instant.
local function waiters_call(w, ticket, until_ms)
  redis.call('ZADD', w.key, format('%d', until_ms), 'o' .. ticket)
  w.called[#w.called + 1], w.until_of[ticket] = ticket, until_ms
  waiters_find_head(w)
end

-- waiters_offer(w): calls the first waiter, which must exist. Returns its ticket.
local function waiters_offer(w)
  local ticket = w.head
  local is_heard = waiters_tell(w.channel, ticket, 0)
  waiters_call(w, ticket, w.now + (is_heard and OFFER_MS or UNHEARD_MS))
  return ticket
end

-- waiters_hold(w, wait_ms): the request has its turn, but cannot proceed yet. It keeps the offer
-- for as long as it may wait, and OFFER_MS more for its last attempt.
local function waiters_hold(w, wait_ms)
  waiters_call(w, w.asking, w.now + wait_ms + OFFER_MS)
end

-- waiters_watch(w, at_ms): makes waiters try again by time; call it last. One tries at the end of
-- an offer. One tries at at_ms, when time makes progress possible (math.huge: never), and one of
-- another daemon OFFER_MS later, in case the first daemon died. After an offer, too, another daemon
-- tries OFFER_MS later, in case that one vanished with the daemon that was called. w.look_at is
-- when the request itself should try (nil: when it is notified). The request's daemon is alive, so
-- it watches if it can; else the last tickets, which wait the longest.
local function waiters_watch(w, at_ms)
  local busy, lapse_ms, silent = {}, math.huge, {}
  for _, ticket in ipairs(w.called) do
    busy[waiters_instance(ticket)] = true
    lapse_ms = math.min(lapse_ms, w.until_of[ticket])
  end
  if not w.head or math.min(at_ms, lapse_ms) == math.huge then
    return
  end
  for _, watcher in ipairs(w.watchers) do
    if watcher.at_ms <= w.now then -- it should have tried
      silent[waiters_instance(watcher.ticket)] = true
    end
  end

  -- A daemon that is connected and silent is on a machine that was suspended or cut off, perhaps
  -- with other daemons. So one waiter of each other daemon tries, after the waiter that was called
  -- next. Daemons whose waiter does not try are dropped together, once their watchers are late.
  for _, member in ipairs(w.left or {}) do
    local instance = waiters_instance(member)
    if not busy[instance] and not silent[instance] and string.match(member, '^%x') and
      instance ~= waiters_instance(w.asking) and redis.call('ZSCORE', w.key, member) then
      silent[instance] = true
      if waiters_tell(w.channel, member, PROBE_MS) then
        redis.call('ZADD', w.key, format('%d', w.now + PROBE_MS), 'w' .. member)
      end
    end
  end

  -- appoint(at, but, tickets): makes a daemon that is not in `but` try by `at`: a watcher that does
  -- so anyway, or else the first of `tickets` whose daemon receives the message. Returns its
  -- instance.
  local function appoint(at, but, tickets)
    for _, watcher in ipairs(w.watchers) do
      local instance = waiters_instance(watcher.ticket)
      if watcher.at_ms <= at and not silent[instance] and not but[instance] then
        return instance
      end
    end
    for _, ticket in ipairs(tickets) do
      local instance = waiters_instance(ticket) or ''
      if instance ~= '' and not but[instance] and not silent[instance] and
        (ticket == w.asking or waiters_tell(w.channel, ticket, at - w.now)) then
        redis.call('ZADD', w.key, format('%d', at), 'w' .. ticket)
        w.watchers[#w.watchers + 1] = { ticket = ticket, at_ms = at }
        if ticket == w.asking then
          w.look_at = math.min(at, w.look_at or math.huge)
        end
        return instance
      end
      but[instance] = true
    end
  end
  at_ms = math.max(at_ms, w.now)
  local last = redis.call('ZRANGE', w.key, '+inf', WAITING, 'BYSCORE', 'REV', 'LIMIT', '0', '16')
  last[#last + 1] = w.head
  for i = 2, #last do
    if last[i] == w.asking then
      last[1], last[i] = last[i], last[1]
    end
  end
  if lapse_ms < math.huge then
    busy[appoint(lapse_ms, busy, last) or ''] = true
    appoint(lapse_ms + OFFER_MS, busy, last)
  end
  if at_ms < math.huge then
    local first = appoint(at_ms, {}, { w.head, unpack(last) })
    appoint(at_ms + OFFER_MS, { [first or ''] = true }, last)
  end
end

-- waiters_wake_all(channel, key, in_ms): every waiter tries again in in_ms. Scripts that change a
-- key of any kind call it, for a changed resource or a changed wait queue. A key of nil means that
-- there are no waiters. O(waiters).
local function waiters_wake_all(channel, key, in_ms)
  local notified = {}
  if not key or redis.call('TYPE', key).ok ~= 'zset' then
    return
  end
  for _, member in ipairs(redis.call('ZRANGE', key, '0', '-1')) do
    local start = string.sub(member, 1, 17) -- cheaper than a pattern, if one daemon has thousands
    local instance = not notified[start] and waiters_instance(member)
    notified[start] = true
    if instance and not notified[instance] then
      notified[instance] = true
      waiters_publish(channel, instance, '! ' .. format('%d', in_ms))
    end
  end
end
