-- queue_get: the counts of a queue and its settings.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
--@reply 0: ready int, blocked int, delayed int, in_flight int, dead int, oldest_ready_at_ms int,
-- expired int, sent int, died int, settings (queue_settings), schedule_at_ms int
-- oldest_ready_at_ms is -1 when nothing is ready. schedule_at_ms is the next instant of a schedule,
-- which may have passed; -1 without schedules.
-- Deliveries whose visibility ended count as what they will be once settled. This is exact for the
-- first 250, as many as a change of the settings settles; more count as ready. A message past its
-- ttl counts until a receive meets it.
-- Errors: WRONGTYPE. O(log(queue)) and what has ended.
--@include time queue queue_types queue_settings queue_message queue_change queue_ended
--@reads
local names = {}
for name in pairs(UNSET) do
  names[#names + 1] = name
end
names[#names + 1] = 'rules'
names[#names + 1] = 'layout'
local stored = redis.call('HMGET', queue_key, unpack(names))
local layout = table.remove(stored)
--@include queue_layout
local rules = table.remove(stored)
for i, value in ipairs(stored) do
  know(names[i], value)
end
local ready = redis.call('ZCARD', ready_key)
local delayed = redis.call('ZCARD', delayed_key)
local oldest, expired, died = -1, setting('expired'), setting('died')
local function may_be_oldest(at)
  oldest = (oldest < 0 or at < oldest) and at or oldest
end

-- The oldest is the first message of one of the priorities.
local priority = 0
while ready > 0 and priority <= 9 do
  local first =
    redis.call('ZRANGE', ready_key, digits(priority * 1e13), '+inf', 'BYSCORE', 'LIMIT', '0', '1', 'WITHSCORES')
  if not first[1] then
    break
  end
  priority = math.floor(first[2] / 1e13) + 1
  may_be_oldest(math.floor(first[2] % 1e13))
end
local due_now = delayed > 0 and redis.call('ZCOUNT', delayed_key, '-inf', instant) or 0
if due_now > 0 then
  may_be_oldest(tonumber(redis.call('ZRANGE', delayed_key, '0', '0', 'WITHSCORES')[2]))
end
ready, delayed = ready + due_now, delayed - due_now
local kept_since = now - setting('dead_retention_ms')
local in_flight = redis.call('ZCOUNT', flight_key, '(' .. instant, '+inf')
local dead = redis.call('ZCOUNT', dead_key, '(' .. digits(kept_since), '+inf')
local ended_count = redis.call('ZCOUNT', flight_key, '0', instant)
local ended = ended_deliveries('250')
for _, m in ipairs(ended) do
  if m.state == 'due' and m.at > now then
    delayed = delayed + 1
  elseif m.state == 'due' then
    ready = ready + 1
    may_be_oldest(m.at)
  elseif m.state == 'dead' then
    dead, died = dead + (m.at > kept_since and 1 or 0), died + 1
  elseif not m.lost then
    expired = expired + 1
  end
end
ready = ready + ended_count - #ended
local reply = {
  0, now, ready, redis.call('ZCARD', order_key), delayed, in_flight, dead, oldest, expired, setting('sent'), died,
}
add_settings(reply, rules)
reply[#reply + 1] = setting('schedule_at') < math.huge and setting('schedule_at') or -1
return reply
