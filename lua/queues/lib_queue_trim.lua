-- Plans the end of what is kept only for a time: dead letters past retention_ms, at most 100 a
-- call; acknowledged ids past dedupe_ms and acknowledgements past their minute, at most 200, as
-- many as one receive leaves. Wants queues/lib_queue.lua.
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
    local over = redis.call('ZRANGE', done_key, digits(-now), digits(now), 'BYSCORE', 'LIMIT', '0', '200')
    for _, member in ipairs(over) do
      zrem(done_key, member)
      if not member:find('\t', 1, true) then
        hdel(ids_key, member)
      end
    end
  end
end
