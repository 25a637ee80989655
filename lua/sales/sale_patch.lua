-- sale_patch: changes some settings of a sale.
-- KEYS  the keys of a sale (sales/lib_sale.lua)
-- ARGV  as for sale_put; '' keeps a setting
--@reply 1 changed, -2 stock_below_sold: sale
--@again 0 again
--@reply -1 absent, -3 closes_before_open
-- change (sales/lib_sale.lua) has the outcomes, besides absent.
-- Errors: WRONGTYPE, nothing done. O(100 log n).
local sale = read_sale()
if not sale then
  return { -1, now }
end
return change(sale, now)
