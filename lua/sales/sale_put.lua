-- sale_put: makes a sale, or replaces the settings of one.
-- KEYS  the sale's (sales/lib_sale.lua)
-- ARGV  1 opens_at_ms, 2 closes_at_ms (0: never), 3 stock, 4 per_user (0: no limit), 5 hold_ms
-- Returns {2, the sale (sales/lib_sale.lua: told)} made, {1, the same} changed
--         {-1, now, ...the sale as it was} more is held and confirmed than this stock
--         {0, now, ...} holds that are over were settled, and there are more: call again
-- Errors: WRONGTYPE, nothing done. O(100 log n). What a sale left whose first key alone was deleted
-- goes too, freed in the background.
--@include time sale
local now = now_ms()
local sale = read_sale()
local outcome = 1
if sale then
  local is_settled = settle(sale, now)
  if tonumber(ARGV[3]) < sale.held + sale.confirmed then
    return told(sale, is_settled and -1 or 0, now)
  end
else
  redis.call('UNLINK', claims_key, holds_key, users_key)
  sale, outcome = {held = 0, confirmed = 0}, 2
end
for i, name in ipairs({'opens_at_ms', 'closes_at_ms', 'stock', 'per_user', 'hold_ms'}) do
  sale[name] = tonumber(ARGV[i])
  redis.call('HSET', sale_key, name, ARGV[i])
end
redis.call('HSET', sale_key, 'held', digits(sale.held), 'confirmed', digits(sale.confirmed))
return told(sale, outcome, now)
