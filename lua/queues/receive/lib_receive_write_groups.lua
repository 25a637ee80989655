-- Writes the marks and places of groups. The marks come first: if they have another type, nothing
-- was written yet. This part must not know why the marks change. Needs `q` of
-- lib_receive_write.lua.
if q.loses[1] then
  redis.call('ZREM', busy_key, unpack(q.loses))
end
if q.leaves[1] then
  redis.call('ZREM', order_key, unpack(q.leaves))
end
if q.joins[1] then
  redis.call('ZADD', order_key, unpack(q.joins))
end
if q.heads[1] then
  redis.call('ZADD', ready_key, unpack(q.heads))
end
if q.gains[1] then
  redis.call('ZADD', busy_key, unpack(q.gains))
end
if q.scores[1] then
  redis.call('ZADD', groups_key, unpack(q.scores))
end
