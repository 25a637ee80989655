-- out_of_time(): whether a millisecond has passed since the first such call. A loop over stored
-- elements calls it after each step, so each call of the script makes progress, and then returns
-- its cursor. The loop's bound on the count holds as well. This module must not know what the loop
-- reads. These clocks advance while a script runs:
--   TIME      Redis 7.0. From 7.2 on, and in Valkey, it stays at the script's start
--   os.clock  Redis 7.4 and later, Valkey 8 and later: CPU time of all threads, including the I/O
--             threads
--   INFO cpu  Redis 7.2 and Valkey 7.2, which have no other; a call takes 7 us. Without the
--             permission +info only the bound on the count holds
local WALK_US = 1000
local walk_began_us
local function clock_us()
  if rawget(_G, 'os') then
    return os.clock() * 1000000
  elseif redis.REDIS_VERSION_NUM < 0x00070200 then
    local t = redis.call('TIME')
    return t[1] * 1000000 + t[2]
  end
  local section = 'cpu'
  local info = redis.pcall('INFO', section)
  local system, user = string.match(info.err and '' or info, 'sys_main_thread:([%d.]+).*user_main_thread:([%d.]+)')
  return ((system or 0) + (user or 0)) * 1000000
end
local function out_of_time()
  walk_began_us = walk_began_us or clock_us()
  return clock_us() - walk_began_us >= WALK_US
end
