"""Any value as JSON and back, exactly. States, writes and inner runs register their own forms."""
