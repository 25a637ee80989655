-- queue_worker_seen: notes that a worker asks a queue for messages. A daemon calls it at most once
-- per worker and second.
-- KEYS  p:queue:{name}:workers (queues/workers/lib_queue_workers.lua)
-- ARGV  1 the worker, percent-encoded; '' for one without a name
--@reply 0
-- A further worker of WORKERS_MOST takes the place of the one that was not seen for the longest.
-- Errors: WRONGTYPE, nothing changed. O(1), and O(WORKERS_MOST) for a new worker once there are as
-- many.
local worker, first = ARGV[1], nil
local seen = redis.call('HGET', KEYS[1], worker)
if seen then
  first = worker_seen(seen)
elseif redis.call('HLEN', KEYS[1]) >= WORKERS_MOST then
  local flat, oldest, oldest_at = redis.call('HGETALL', KEYS[1]), nil, math.huge
  for i = 1, #flat, 2 do
    local _, last = worker_seen(flat[i + 1])
    if (last or 0) < oldest_at then
      oldest, oldest_at = flat[i], last or 0
    end
  end
  redis.call('HDEL', KEYS[1], oldest)
end
redis.call('HSET', KEYS[1], worker, format('%d%d', first or now, now))
redis.call('PEXPIRE', KEYS[1], format('%d', WORKERS_MS))
return { 0, now }
