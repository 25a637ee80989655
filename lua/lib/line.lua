-- A line of those who wait for one resource, first come, first served over all daemons. Wants lib/time.lua and
-- lib/wake.lua.
--   line   sorted set: ticket by arrival. It lives as long as anybody in it can wait
--   offer  "<ticket> <until_ms>": the first in the line was told that it is his turn. Who does not come in time has no
--          daemon any more, and all of that daemon's tickets are dropped: no heartbeats. Should it live all the same, it is
--          told that they were, and they come again
-- A ticket is "<daemon>.<number>.<mode>", the daemon 16 hex digits; the mode is the resource's own affair.
local OFFER_MS, LINE_MS, DAEMON_DIGITS = 1000, 62000, 16

-- line_read(channel, line, offer, now, asking): how the line stands once it is settled: head (nil: nobody waits),
-- offered_until (0: not offered to that head). `asking` is the ticket of who comes now, '' for none: his own offer does not
-- lapse, nor is his daemon gone. Writes nothing. O(1), O(line) when an offer has lapsed.
local function line_read(channel, line_key, offer_key, now, asking)
  local l = { channel = channel, line_key = line_key, offer_key = offer_key, offered_until = 0, gone = {} }
  l.head = redis.call('ZRANGE', line_key, '0', '0')[1]
  if not l.head and asking == '' then
    return l
  end
  local ticket, until_ms = string.match(redis.call('GET', offer_key) or '', '^(%S+) (%d+)$')
  if not ticket or ticket ~= l.head then
    return l
  end
  l.offered_until = tonumber(until_ms)
  if l.offered_until > now or ticket == asking then
    return l
  end
  l.head, l.offered_until, l.gone_daemon = nil, 0, string.sub(ticket, 1, DAEMON_DIGITS)
  local lives = string.sub(asking, 1, DAEMON_DIGITS) == l.gone_daemon
  for _, t in ipairs(redis.call('ZRANGE', line_key, '0', '-1')) do
    if t == ticket or (not lives and string.sub(t, 1, DAEMON_DIGITS) == l.gone_daemon) then
      l.gone[#l.gone + 1] = t
    else
      l.head = l.head or t
    end
  end
  return l
end

-- line_settle(l): drops those whose daemon is gone. Before any other change of the line.
local function line_settle(l)
  if not l.gone_daemon then
    return
  end
  for i = 1, #l.gone, 1000 do
    redis.call('ZREM', l.line_key, unpack(l.gone, i, math.min(i + 999, #l.gone)))
  end
  redis.call('DEL', l.offer_key) -- who comes again with the same ticket was not offered anything
  tell(l.channel, '!' .. l.gone_daemon .. ' -1')
  l.gone, l.gone_daemon = {}, nil
end

-- line_join(l, ticket, now_us): to the end of the line, unless it stands there already.
local function line_join(l, ticket, now_us)
  local last = redis.call('ZRANGE', l.line_key, '-1', '-1', 'WITHSCORES')[2]
  redis.call('ZADD', l.line_key, 'NX', digits(math.max(now_us, tonumber(last or 0) + 1)), ticket)
  redis.call('PEXPIRE', l.line_key, LINE_MS)
  l.head = l.head or ticket
end

-- line_leave(l, ticket): out of the line.
local function line_leave(l, ticket)
  if redis.call('ZREM', l.line_key, ticket) == 0 or l.head ~= ticket then
    return
  end
  l.head = redis.call('ZRANGE', l.line_key, '0', '0')[1]
  if l.offered_until > 0 then
    redis.call('DEL', l.offer_key)
    l.offered_until = 0
  end
end

-- line_offer(l, now): tells the first that it is his turn, unless he was told. He has OFFER_MS to come.
local function line_offer(l, now)
  if l.head and l.offered_until == 0 then
    l.offered_until = now + OFFER_MS
    redis.call('SET', l.offer_key, l.head .. ' ' .. digits(l.offered_until), 'PX', LINE_MS)
    tell(l.channel, '@' .. l.head .. ' ' .. digits(OFFER_MS))
  end
end

-- line_hold(l, now, wait_ms): the first came, but cannot go on before something else happens; it stays his turn for as long
-- as he may wait, and for his last try.
local function line_hold(l, now, wait_ms)
  l.offered_until = now + wait_ms + OFFER_MS
  redis.call('SET', l.offer_key, l.head .. ' ' .. digits(l.offered_until), 'PX', LINE_MS)
end
