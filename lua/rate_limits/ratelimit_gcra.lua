-- ratelimit_gcra: adds `cost` drops to a leaky bucket, or returns when they fit.
-- KEYS  1 state (rate_limits/lib_limit_gcra.lua)
-- ARGV  1 limit  2 window_ms  3 cost (0 looks)  4 burst
--@reply 1 allowed, 0 refused: limit_taken
-- A refusal writes nothing. O(1).
--@idempotent window
--@plain
-- A new leaky bucket, or one of the same limit.
local limit, window, cost, burst = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
local form, level, at, old_window, old_limit = GCRA_FORM, 0, now, window, limit
known = redis.call('GET', KEYS[1])
if known then
  form = nil
  if #known == GCRA_BYTES then
    form, level, at, old_window, old_limit = struct.unpack('<I4dddd', known)
  end
end
if form == GCRA_FORM and old_limit == limit and old_window == window and at <= now and cost > 0 and cost <= burst then
  local divisor, rest = limit, window
  while rest > 0 do
    divisor, rest = rest, divisor % rest
  end
  local drain, drop = limit / divisor, window / divisor
  level = math.max(level - (now - at) * drain, 0)
  local more, room, allowed, retry_at = cost * drop, burst * drop - level, 0, nil
  if more <= room then
    allowed, retry_at, level, room = 1, -1, level + more, room - more
  else
    local over = more - room
    retry_at = now + (over + -over % drain) / drain
  end
  local reset_at, remaining = now + (level + -level % drain) / drain, math.max((room - room % drop) / drop, 0)
  local lack = (remaining + 1) * drop - room
  if allowed == 1 then
    local state = struct.pack('<I4ddddd', GCRA_FORM, level, now, window, limit, burst)
    redis.call('SET', KEYS[1], state, 'PXAT', format('%d', reset_at))
  end
  reply = { allowed, now, burst, remaining, retry_at, reset_at, now + (lack + -lack % drain) / drain, limit, window }
  lasts_ms = window
end
--@operation
local limit, window, cost, burst = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
if known == nil then
  known = redis.call('GET', KEYS[1])
end
local allowed, capacity, remaining, retry_at, reset_at, more_at, _, _, at, level =
  gcra_decide(known, now, limit, window, cost, burst)
if allowed == 1 and cost > 0 then
  gcra_commit(KEYS[1], reset_at, limit, window, at, level, burst)
end
return { allowed, now, capacity, remaining, retry_at, reset_at, more_at, limit, window }, nil, window
