-- sale_give_back: returns what a claim holds to the stock before its time.
-- KEYS  the sale's (sales/lib_sale.lua)
-- ARGV  1 the claim
-- Returns {1, now}
--         {-1, now} there is no sale, {-2, now} there is no such claim, or its hold is over, {-3, now} it is confirmed
-- Errors: WRONGTYPE, nothing done. O(log n).
--@include time sale
--@flags allow-oom
local now = now_ms()
local sale = read_sale()
if not sale then
  return {-1, now}
end
local c = claim_of(redis.call('HGET', claims_key, ARGV[1]))
if c and c.state == 'confirmed' then
  return {-3, now}
end
if not c or c.expires_at_ms <= now then
  return {-2, now}
end
take_back(sale, {ARGV[1]})
return {1, now}
