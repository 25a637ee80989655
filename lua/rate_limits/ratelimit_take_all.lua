-- ratelimit_take_all: one decision over several limits: all are taken, or none.
-- KEYS  1.. the states (lib/limit_*.lua), one a check, no two the same
-- ARGV  six a check: algorithm (1 gcra, 2 sliding window, 3 fixed window), limit, window_ms, cost
--       (0 looks), burst of a leaky bucket | '1': a refused call counts too, '1': a shadow, which
--       does not count; behind them '1': limits in other slots have refused it already
-- Returns {1 granted | 0 refused, now_ms, then six a check: 1 fits by itself | 0, capacity,
-- remaining, retry_at_ms | -1, reset_at_ms, more_at_ms | 0}. Errors: WRONGTYPE, nothing done.
-- O(checks), times O(log n) for a sliding window.
--@include time limit_gcra limit_sliding_window limit_fixed_window
--@idempotent
local now = now_ms()
local FIELDS = 6
local function look(i, cost)
  local at = FIELDS * (i - 1)
  local algorithm, limit, window = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if algorithm == '1' then
    return { gcra_decide(KEYS[i], now, limit, window, cost, tonumber(ARGV[at + 5])) }
  elseif algorithm == '2' then
    return { sliding_window_decide(KEYS[i], now, limit, window, cost, ARGV[at + 5] == '1') }
  end
  return { fixed_window_decide(KEYS[i], now, limit, window, cost) }
end
local function take(i, c)
  local algorithm = ARGV[FIELDS * (i - 1) + 1]
  if algorithm == '1' then
    gcra_commit(KEYS[i], c[5], c[7], c[8], c[9], c[10], c[11])
  elseif algorithm == '2' then
    sliding_window_commit(KEYS[i], c[1], c[7], c[8], c[9], c[11], c[12], c[13], c[14], c[15])
  else
    fixed_window_commit(KEYS[i], c[7], c[8], c[10], c[11])
  end
end
local checks, granted = {}, ARGV[FIELDS * #KEYS + 1] == '1' and 0 or 1
for i = 1, #KEYS do
  local c = look(i, tonumber(ARGV[FIELDS * (i - 1) + 4]))
  checks[i] = c
  if c[1] == 0 and ARGV[FIELDS * i] ~= '1' then
    granted = 0
  end
end
local taken, reply = {}, { granted, now }
for i, c in ipairs(checks) do
  local cost = tonumber(ARGV[FIELDS * (i - 1) + 4])
  local counts_refused = ARGV[FIELDS * (i - 1) + 1] == '2' and ARGV[FIELDS * (i - 1) + 5] == '1'
  local told = c
  if cost > 0 and (counts_refused or (granted == 1 and c[1] == 1)) then
    taken[#taken + 1] = i
  elseif cost > 0 and c[1] == 1 then
    told = look(i, 0) -- it would have fitted, and is not taken
  end
  reply[#reply + 1] = c[1]
  for field = 2, FIELDS do
    reply[#reply + 1] = told[field]
  end
end
for _, i in ipairs(taken) do
  take(i, checks[i])
end
return reply
