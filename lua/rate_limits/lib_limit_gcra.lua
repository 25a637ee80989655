-- gcra: a leaky bucket as meter, which is GCRA counted in drops (ITU-T I.371; redis-cell's
-- CL.THROTTLE).
--
-- State, a string: the number GCRA_FORM, then level, at_ms, window_ms, limit and burst, each a
-- double (little-endian); text would cost Redis a fifth more. limit and window_ms, divided by their
-- greatest common divisor, are the units that drain per millisecond and the units of a drop. The
-- daemon refuses a burst of 2^52 units, so all levels and instants are whole numbers below 2^53,
-- where Lua is exact. The state expires when the leaky bucket is empty. at_ms never decreases:
-- after Redis's clock was set back, nothing drains until it reaches at_ms again, and all instants
-- count from at_ms.
--
-- A decision, as the scripts of all limits return it. retry_at_ms is -1 when it is allowed, and
-- more_at_ms is 0 when nothing is counted. limit and window_ms are the given ones: a replay must
-- return them even if its policy has others by now.
--@shape limit_decision: capacity int, remaining int, retry_at_ms int, reset_at_ms int,
-- more_at_ms int, limit int, window_ms int
--@shape limit_taken: decision (limit_decision)

local GCRA_FORM, GCRA_BYTES = 1095910215, 44 -- the bytes 'GCRA'

-- gcra_units(limit, window): the units that drain per millisecond, and the units of a drop.
local function gcra_units(limit, window)
  local divisor, rest = limit, window
  while rest > 0 do
    divisor, rest = rest, divisor % rest
  end
  return limit / divisor, window / divisor
end
-- gcra_decide(stored, now, limit, window, cost, burst): of the stored state, false for none.
-- Returns allowed (1 or 0), capacity, remaining, retry_at (-1 when allowed), reset_at, more_at (0
-- when nothing is counted), all as they are after the commit; limit, window, the instant they count
-- from; then what gcra_commit needs. With limit nil the parameters are the stored ones; the result
-- is nil when there are none. It uses plain values and no table, and n + -n % d, which is n rounded
-- up to a multiple of d, instead of calls.
local function gcra_decide(stored, now, limit, window, cost, burst)
  local level, at, drain, drop, lapses_at = 0, now, nil, nil, nil
  if stored then
    local form, old_window, old_limit, old_burst
    if #stored == GCRA_BYTES then
      form, level, at, old_window, old_limit, old_burst = struct.unpack('<I4ddddd', stored)
    end
    if form ~= GCRA_FORM then
      error(redis.error_reply('WRONGTYPE the key holds text that is not a leaky bucket'))
    end
    if not limit then
      limit, window, burst = old_limit, old_window, old_burst
    end
    drain, drop = gcra_units(limit, window)
    if old_limit ~= limit or old_window ~= window then
      -- level * drop / old_drop, rounded up; at most 2^52, which is beyond any room. The product
      -- may have 87 bits, so it is computed in parts.
      local old_drain, old_drop = gcra_units(old_limit, old_window)
      local part = level % old_drop
      local upper, lower = part * math.floor(drop / 2 ^ 18), part * (drop % 2 ^ 18)
      local middle = upper % old_drop * 2 ^ 18
      local whole = math.floor(level / old_drop) * drop + math.floor(upper / old_drop) * 2 ^ 18
        + math.floor(middle / old_drop) + math.floor(lower / old_drop)
      local rest = middle % old_drop + lower % old_drop
      lapses_at = at + math.ceil(level / old_drain)
      level = math.min(2 ^ 52, whole + math.ceil(rest / old_drop))
      if now >= lapses_at then level = 0 end
    end
    if now > at then
      level, at = level - (now - at) * drain, now
      if level < 0 then level = 0 end
    end
  elseif limit then
    drain, drop = gcra_units(limit, window)
  else
    return nil
  end
  local over = level + (cost - burst) * drop
  local allowed, retry_at, remaining, reset_at, more_at = 1, -1, burst, at, 0
  if over <= 0 then
    level = level + cost * drop
  else
    allowed, retry_at = 0, at + (over + -over % drain) / drain
  end
  if level > 0 then
    local room = burst * drop - level
    remaining = room > 0 and (room - room % drop) / drop or 0
    local lack = (remaining + 1) * drop - room
    reset_at, more_at = at + (level + -level % drain) / drain, at + (lack + -lack % drain) / drain
  end
  if lapses_at and (allowed == 0 or cost == 0) then
    retry_at = math.min(retry_at, lapses_at)
    reset_at = math.min(reset_at, lapses_at)
    more_at = math.min(more_at, lapses_at)
  end
  return allowed, burst, remaining, retry_at, reset_at, more_at, limit, window, at, level, burst
end
local function gcra_commit(key, reset_at, limit, window, at, level, burst)
  local state = struct.pack('<I4ddddd', GCRA_FORM, level, at, window, limit, burst)
  redis.call('SET', key, state, 'PXAT', format('%d', reset_at))
end
