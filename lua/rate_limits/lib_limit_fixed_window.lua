-- The fixed window: a counter that starts with the first counted call and ends window_ms later.
--
-- State, a string: the number WINDOW_FORM, then used, started_at_ms, limit and window_ms, packed as
-- for gcra. It expires at the end of its window, as it was last written: a longer window holds from
-- the next counted call on, a shorter one at once.
--
-- fixed_window_decide and fixed_window_commit: as for gcra.
local WINDOW_FORM, WINDOW_BYTES = 1145981271, 36 -- the bytes 'WIND'

local function fixed_window_decide(key, now, limit, window, cost)
  local used, started, lasts = 0, now, window
  local stored = redis.call('GET', key)
  if stored then
    local form, u, s, l, w
    if #stored == WINDOW_BYTES then
      form, u, s, l, w = struct.unpack('<I4dddd', stored)
    end
    if form ~= WINDOW_FORM then
      error(redis.error_reply('WRONGTYPE the key holds text that is not a fixed window'))
    end
    if not limit then
      limit, window = l, w
    end
    lasts = w
    if window < lasts then lasts = window end
    if now < s + lasts then
      used, started = u, s
    end
  elseif not limit then
    return nil
  end
  local allowed, retry_at, finish = 1, -1, started + lasts
  if used + cost > limit then
    allowed, retry_at = 0, finish
  elseif cost > 0 then
    used, finish = used + cost, started + window
  end
  local remaining, reset_at, more_at = limit - used, now, 0
  if used > 0 then
    reset_at, more_at = finish, finish
  end
  if remaining < 0 then remaining = 0 end
  if now < started then now = started end
  return allowed, limit, remaining, retry_at, reset_at, more_at, limit, window, now, used, started
end
local function fixed_window_commit(key, limit, window, used, started)
  local state = struct.pack('<I4dddd', WINDOW_FORM, used, started, limit, window)
  redis.call('SET', key, state, 'PXAT', format('%d', started + window))
end
