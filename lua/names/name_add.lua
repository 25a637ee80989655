-- name_add: adds the name of a key that exists to its index, as the script that makes the key does.
-- KEYS  1 the first key of a resource, 2 the index of names (lib/made.lua)
--@reply 1 added, 0
-- 0: the index had the name, or the key does not exist (any more).
-- O(log names).
local is_new = redis.call('EXISTS', KEYS[1]) == 1
  and redis.pcall('ZADD', names_key, '0', KEYS[1]:match('^.*{(.*)}$')) == 1
return { is_new and 1 or 0, now }
