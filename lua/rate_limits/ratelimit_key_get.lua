-- ratelimit_key_get: the state of a key's limit, with the parameters that it was last used with.
-- KEYS  1 gcra  2 sliding window  3 fixed window
-- ARGV  1 number of the algorithm to look at, 0 for the first that has a state
--@shape limit_state: algorithm int, limit int, window_ms int, capacity int, remaining int,
-- retry_at_ms int, reset_at_ms int
--@reply 0: limit_state
-- algorithm is 0 without a state; retry_at_ms is -1 when a call of cost 1 would be allowed. O(log
-- n).
--@reads
local wanted = tonumber(ARGV[1])
for algorithm = 1, 3 do
  if wanted == 0 or wanted == algorithm then
    local allowed, capacity, remaining, _, reset_at, more_at, limit, window =
      limit_decide(algorithm, KEYS[algorithm], now, nil, nil, 0)
    if allowed then
      return { 0, now, algorithm, limit, window, capacity, remaining, remaining > 0 and -1 or more_at, reset_at }
    end
  end
end
return { 0, now, 0, 0, 0, 0, 0, -1, now }
