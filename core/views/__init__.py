"""What pages, reports and the command line read."""
