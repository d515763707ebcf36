"""What a driver knows of others: forks of it, drivers with other rules, who renews its claims."""
