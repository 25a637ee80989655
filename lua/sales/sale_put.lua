-- sale_put: creates a sale, or replaces the settings of one.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
-- ARGV  1 opens_at_ms (0: at once), 2 closes_at_ms (0: never), 3 stock, 4 per_user (0: no limit),
--       5 hold_ms, 6 retention_ms (0: it never expires)
--@reply 2 new, 1 replaced, -2 stock_below_sold: sale
--@again 0 again
--@reply -3 closes_before_open
-- change (sales/lib_sale.lua) has the outcomes.
-- Errors: WRONGTYPE, nothing done. O(100 log n).
local sale = read_sale()
local reply = change(sale, now)
if not sale and reply[1] > 0 then
  made = { sale_key }
end
return reply
