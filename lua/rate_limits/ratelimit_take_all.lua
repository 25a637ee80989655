-- ratelimit_take_all: one decision over several limits: takes the cost from all, or from none.
-- KEYS  1.. the states (rate_limits/lib_limit_*.lua), one per check, no two the same; for a request
--       that may wait, then the waiters of each (lib/waiters.lua)
-- ARGV  six per check: algorithm (1 gcra, 2 sliding window, 3 fixed window), limit, window_ms, cost
--       (0 looks), burst of a leaky bucket | '1': a refused call counts as well, '1': a shadow,
--       whose refusal is ignored; then '1': limits in other slots have refused the request already,
--       '2': it waits for one of them; for a request that may wait, then ticket, how long it may
--       still wait, ms (0: this is its last try), and how long it has waited, us
--@shape limit_check: fits int, decision (limit_decision)
--@reply 1 admitted, 2 counted_refusal: is_waiting int, look_at_ms int, checks (limit_check)...
--@reply 0 refused: is_waiting int, look_at_ms int, checks (limit_check)...
-- fits is 1 when the check fits on its own. is_waiting is 1 for a request that still waits;
-- look_at_ms is then when it should try again (-1: when it is notified). A request waits at the
-- limit that takes longest to have room, unless that takes longer than it may wait. No request that
-- waits overtakes another. While it waits it is not refused, so it counts nothing.
-- Errors: WRONGTYPE, nothing done. O(checks), times O(log n) for a sliding window.
--@idempotent window
local FIELDS = 6
local count = math.floor(#ARGV / FIELDS)
local may_wait, elsewhere = #KEYS > count, ARGV[FIELDS * count + 1]
local is_refused, wait_ms = elsewhere == '1' or elsewhere == '2', may_wait and tonumber(ARGV[FIELDS * count + 3]) or 0
local counts_refusals = elsewhere == '1' or (not is_refused and wait_ms == 0)
local function look(i, cost)
  local at = FIELDS * (i - 1)
  local algorithm, more = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 5])
  if algorithm == 2 then
    more = counts_refusals and more == 1
  end
  return { limit_decide(algorithm, KEYS[i], now, tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), cost, more) }
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
local function cost_of(i)
  return tonumber(ARGV[FIELDS * (i - 1) + 4])
end
local function may_count_refused(i)
  return ARGV[FIELDS * (i - 1) + 1] == '2' and ARGV[FIELDS * (i - 1) + 5] == '1'
end
local checks, admitted = {}, is_refused and 0 or 1
for i = 1, count do
  local c = look(i, cost_of(i))
  checks[i] = c
  if c[1] == 0 and ARGV[FIELDS * i] ~= '1' then
    admitted = 0
  end
end

local waiting, serve
if may_wait then
  local ticket, queued_us = ARGV[FIELDS * count + 2], tonumber(ARGV[FIELDS * count + 4])
  local queues, longest_at, at = {}, -1, nil
  for i = 1, count do
    queues[i] = waiters_read(KEYS[i], KEYS[count + i], now, ticket)
    local is_behind = wait_ms > 0 and cost_of(i) > 0 and not waiters_is_next(queues[i], now_us, queued_us)
    local free_at = checks[i][1] == 0 and checks[i][4] or is_behind and now or -1
    if ARGV[FIELDS * i] ~= '1' and free_at > longest_at then
      longest_at, at, admitted = free_at, i, 0
    end
  end
  if wait_ms == 0 or is_refused or longest_at - now > wait_ms then
    at = nil
  end
  if not (at or is_refused or counts_refusals) then -- it stops waiting, so a refusal is final
    counts_refusals = true
    for i = 1, count do
      if may_count_refused(i) then
        checks[i] = look(i, cost_of(i))
      end
    end
  end
  for i, w in ipairs(queues) do
    waiters_settle(w)
    if i == at then
      waiters_join(w, now_us, queued_us)
    else
      waiters_leave(w)
    end
  end
  -- serve(): makes the first waiter of each limit look when its cost fits. Call it after the cost
  -- was taken from all limits.
  function serve()
    counts_refusals = false
    for i, w in ipairs(queues) do
      if w.head then
        local c = look(i, w.head == ticket and cost_of(i) or tonumber(string.match(w.head, '%d+$') or 1))
        waiters_watch(w, math.max(now, c[4]))
      end
    end
    return at and queues[at].look_at or -1
  end
  waiting = at and 1 or 0
end

local taken, reply, longest = {}, { admitted, now, 0, -1 }, 1
for i, c in ipairs(checks) do
  local cost = cost_of(i)
  local counts_refused = cost > 0 and counts_refusals and may_count_refused(i)
  local state = c
  if cost > 0 and (counts_refused or (admitted == 1 and c[1] == 1)) then
    taken[#taken + 1] = i
  elseif cost > 0 and c[1] == 1 then
    state = look(i, 0) -- it would fit, but is not taken
  end
  if admitted == 1 and cost > 0 or counts_refused then
    longest = math.max(longest, ARGV[FIELDS * (i - 1) + 1] == '3' and c[5] - now or c[8])
  end
  reply[#reply + 1] = c[1]
  for field = 2, 8 do
    reply[#reply + 1] = state[field]
  end
  if admitted == 0 and counts_refused then
    reply[1] = 2
  end
end
for _, i in ipairs(taken) do
  take(i, checks[i])
end
if may_wait then
  reply[3], reply[4] = waiting, serve()
end
return reply, nil, longest
