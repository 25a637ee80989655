-- The cells of a set without settings: the contract's default, and GEO_DEFAULT_CELLS of
-- handlers/geo/geo_call.h. Why so many: docs/adr/0013.
local GEO_DEFAULT_CELLS = 16
