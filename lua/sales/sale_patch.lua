-- sale_patch: changes some settings of a sale.
-- KEYS  the sale's (sales/lib_sale.lua)
-- ARGV  as sale_put; '' stays as it is
-- Returns as change of sales/lib_sale.lua: {1, the sale} changed
--         {-1, now} there is no sale
--         {-2, now, ...the sale} the stock is too small, {-3, now} it would close before it opens
--         {0, now, ...} call again
-- Errors: WRONGTYPE, nothing done. O(100 log n).
--@include time expiry sale
local sale = read_sale()
if not sale then
  return {-1, now_ms()}
end
return change(sale, now_ms())
