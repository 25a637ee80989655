-- key_state(key): for any key, also a key of another program: its type ('string', 'list', 'set',
-- 'zset', 'hash', 'stream', or a type of a module; 'none' when there is no key), when it expires
-- (ms; -1: never), and its size (elements, or bytes of a string; -1 for the type of a module).
-- O(1).
--@shape key_state: type text, expires_at_ms int, size int
local KEY_SIZES = { string = 'STRLEN', list = 'LLEN', set = 'SCARD', zset = 'ZCARD', hash = 'HLEN', stream = 'XLEN' }
local function key_state(key)
  local kind = redis.call('TYPE', key).ok
  local size = KEY_SIZES[kind]
  return kind, redis.call('PEXPIRETIME', key), size and redis.call(size, key) or -1
end
