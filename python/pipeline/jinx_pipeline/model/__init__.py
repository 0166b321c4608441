"""Plain records that all layers share."""
