"""Where tools come from: functions, components, and groups that are handed around as one."""
