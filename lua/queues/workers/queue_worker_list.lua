-- queue_worker_list: the workers that received from a queue in the last hour, or have messages of
-- it in flight.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and p:queue:{name}:workers
--@reply 0: is_complete int, workers [queue_worker]...
--@shape queue_worker: worker text, first_receive_at_ms int, last_receive_at_ms int, in_flight int,
-- oldest_received_at_ms int
-- The worker that received last comes first. worker is percent-encoded, '' for all without a name.
-- Both instants of receives are -1 if it did not receive in the last hour; oldest_received_at_ms is
-- -1 if it has nothing in flight, or if no time is known. is_complete is 0 if more than 1000
-- messages are in flight: the counts are of those whose visibility ends first.
-- Errors: WRONGTYPE. O(workers + in flight), at most 1000 of both.
--@reads
check_types()
local FLIGHT_MOST = 1000
local workers, found = {}, {}
local function worker_of(name)
  if not found[name] then
    found[name] = { name, -1, -1, 0, -1 }
    workers[#workers + 1] = found[name]
  end
  return found[name]
end

local flat = redis.call('HGETALL', KEYS[QUEUE_KEYS + 1])
for i = 1, #flat, 2 do
  local first, last = worker_seen(flat[i + 1])
  if first then
    local w = worker_of(flat[i])
    w[2], w[3] = first, last
  end
end

local flight = redis.call('ZRANGE', keys[FLIGHT], '(' .. instant, '+inf', 'BYSCORE', 'LIMIT', '0',
  format('%d', FLIGHT_MOST), 'WITHSCORES')
for _, m in ipairs(messages_of(keys[FLIGHT], flight)) do
  local w, received_at = worker_of(m.worker or ''), tonumber(m.nonce and m.nonce:sub(1, 10) or '')
  w[4] = w[4] + 1
  if received_at and (w[5] < 0 or received_at * 1000 < w[5]) then
    w[5] = received_at * 1000
  end
end
table.sort(workers, function(a, b)
  return a[3] > b[3]
end)
return { 0, now, redis.call('ZCOUNT', keys[FLIGHT], '(' .. instant, '+inf') > FLIGHT_MOST and 0 or 1, unpack(workers) }
