-- A limit of any algorithm: 1 gcra, 2 sliding_window, 3 fixed_window. For the arguments and what is
-- returned see lib_limit_gcra.lua.

-- limit_decide(algorithm, key, now, limit, window, cost, more): `more` is the burst of gcra, or
-- whether sliding_window counts refusals.
local function limit_decide(algorithm, key, now, limit, window, cost, more)
  if algorithm == 1 then
    return gcra_decide(redis.call('GET', key), now, limit, window, cost, more)
  elseif algorithm == 2 then
    return sliding_window_decide(key, now, limit, window, cost, more)
  end
  return fixed_window_decide(key, now, limit, window, cost)
end
