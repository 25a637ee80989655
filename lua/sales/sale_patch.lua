-- sale_patch: changes some settings of a sale.
-- KEYS  the sale's (sales/lib_sale.lua)
-- ARGV  as sale_put; '' stays as it is
--@reply 1 changed, 0 again, -2 stock_below_sold: sale
--@reply -1 absent, -3 closes_before_open
-- They are the outcomes of change (sales/lib_sale.lua), and absent.
-- Errors: WRONGTYPE, nothing done. O(100 log n).
--@include time expiry sale
local sale = read_sale()
if not sale then
  return {-1, now_ms()}
end
return change(sale, now_ms())
