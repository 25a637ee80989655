-- Messages that are done. Wants queues/lib_queue_settings.lua.

-- Remembers ids that senders gave for dedupe_ms. The first writes of its keys: it must come where
-- nothing was written yet, or after check_types().
local function remember_ids(ids)
  local dedupe_ms = setting('dedupe_ms')
  if dedupe_ms == 0 then
    redis.call('HDEL', ids_key, unpack(ids))
    return
  end
  local until_ms, done, blanks = digits(now + dedupe_ms), {}, {}
  for i, id in ipairs(ids) do
    done[2 * i - 1], done[2 * i] = until_ms, id
    blanks[2 * i - 1], blanks[2 * i] = id, ''
  end
  redis.call('HLEN', ids_key)
  redis.call('ZADD', done_key, unpack(done))
  redis.call('HSET', ids_key, unpack(blanks))
end
