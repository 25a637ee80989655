-- How many cells a set without settings has: the contract's default, and GEO_DEFAULT_CELLS of
-- handlers/geo/geo_call.h. docs/adr/0013 has the reason for this number.
local GEO_DEFAULT_CELLS = 1
