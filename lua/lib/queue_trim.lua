-- Plans the end of what is kept only for a time, at most 100 of each a call: dead letters past retention_ms,
-- acknowledged ids past dedupe_ms. Wants lib/queue.lua.
local function trim(queue)
  if redis.call('EXISTS', dead_key, done_key) == 0 then
    return
  end
  if read('ZCARD', dead_key) > 0 then
    local kept_since = digits(now - setting(queue, 'retention_ms'))
    local flat = redis.call('ZRANGE', dead_key, '-inf', kept_since, 'BYSCORE', 'LIMIT', '0', '100', 'WITHSCORES')
    for _, m in ipairs(messages_of(dead_key, flat)) do
      forget(m)
    end
  end
  if read('ZCARD', done_key) > 0 then
    for _, id in ipairs(redis.call('ZRANGE', done_key, '-inf', digits(now), 'BYSCORE', 'LIMIT', '0', '100')) do
      zrem(done_key, id)
      hdel(ids_key, id)
    end
  end
end
