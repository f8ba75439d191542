"""Who may do what: roles, the table of permissions, accounts (design section 12)."""
