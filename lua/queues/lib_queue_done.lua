-- Messages that are done. Wants queues/lib_queue_settings.lua.

-- Remembers ids that senders gave for dedupe_ms. The first writes of its keys: it must come where
-- nothing was written yet, or after check_types() and a look at dedupe_ms.
local function remember_ids(ids)
  local dedupe_ms = setting('dedupe_ms')
  redis.call('ZCARD', done_key)
  redis.call('HDEL', ids_key, unpack(ids))
  if dedupe_ms == 0 then
    return
  end
  local until_ms, done = digits(now + dedupe_ms), {}
  for i, id in ipairs(ids) do
    done[2 * i - 1], done[2 * i] = until_ms, id
  end
  redis.call('ZADD', done_key, unpack(done))
end
