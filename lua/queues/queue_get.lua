-- queue_get: the counts of a queue and its settings.
-- KEYS  the queue's (queues/lib_queue.lua)
-- Returns {0, now_ms, ready, delayed, in_flight, dead, oldest_ready_at_ms (-1: nothing is ready),
-- expired, visibility_ms, max_receives, backoff_base_ms (0: none), backoff_max_ms, dedupe_ms,
-- retention_ms, paused (0 or 1)}. Deliveries whose visibility ended count as what they will be once
-- settled: the first 1000 exactly, more as ready. A message past its ttl counts until a receive
-- meets it.
-- Errors: WRONGTYPE. O(log(queue)) and what has ended.
--@include time wake queue queue_settings queue_ended
--@reads
local queue = this_queue()
local instant = digits(now)
local ready, delayed, oldest, expired = 0, 0, -1, setting(queue, 'expired')
local function count_due(at)
  if at > now then
    delayed = delayed + 1
    return
  end
  ready = ready + 1
  oldest = (oldest < 0 or at < oldest) and at or oldest
end

for priority = 0, 9 do
  local key = due_key(priority)
  local due = redis.call('ZCARD', key)
  if due > 0 then
    local due_now = redis.call('ZCOUNT', key, '-inf', instant)
    ready = ready + due_now
    delayed = delayed + due - due_now
    if due_now > 0 then
      local first = tonumber(redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')[2])
      oldest = (oldest < 0 or first < oldest) and first or oldest
    end
  end
end
local kept = digits(now - setting(queue, 'retention_ms'))
local in_flight = redis.call('ZCOUNT', flight_key, '(' .. instant, '+inf')
local dead = redis.call('ZCOUNT', dead_key, '(' .. kept, '+inf')
local ended_count = redis.call('ZCOUNT', flight_key, '-inf', instant)
local ended = ended_deliveries(queue, 1000)
for _, m in ipairs(ended) do
  if m.state == 'due' then
    count_due(m.at)
  elseif m.state == 'dead' then
    dead = dead + 1
  elseif not m.lost then
    expired = expired + 1
  end
end
ready = ready + ended_count - #ended
local reply = { 0, now, ready, delayed, in_flight, dead, oldest, expired }
add_settings(reply, queue)
return reply
