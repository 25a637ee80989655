-- Adds the first keys that the operation made to the index of names: a sorted set for each kind
-- whose names clients choose (service/call/name_index.h). All scores are 0, so Redis sorts the
-- names. An operation that may make the first key of such a resource gets the index as its last
-- key, which is removed from KEYS, and sets `made` to a list of the keys that it made. In a Cluster
-- each slot has its own index. An index of another type does not make the script fail.
-- For every eighth new name, on average, up to 16 other names, chosen at random, are removed whose
-- keys do not exist any more. So at most about half of the names in the index have no key, however
-- many come and go. Redis does not run a script that makes a key in a slot which is migrating, so a
-- key that does not exist here exists on no other node. O(log names).
if made then
  for _, key in ipairs(made) do
    local lead, name = key:match('^(.*{)(.*)}$')
    if redis.pcall('ZADD', names_key, '0', name) == 1 and now_us % 8 == 0 then
      local others, keys = {}, {}
      for _, other in ipairs(redis.pcall('ZRANDMEMBER', names_key, '16')) do
        if other ~= name then
          others[#others + 1], keys[#keys + 1] = other, lead .. other .. '}'
        end
      end
      -- Most often none of the keys exists, since most locks are released soon.
      if keys[1] and redis.pcall('EXISTS', unpack(keys)) == 0 then
        redis.pcall('ZREM', names_key, unpack(others))
        keys = {}
      end
      for i, other_key in ipairs(keys) do
        if redis.pcall('EXISTS', other_key) == 0 then
          redis.pcall('ZREM', names_key, others[i])
        end
      end
    end
  end
end
