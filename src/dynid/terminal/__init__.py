"""What the command shows people: short tables, findings, and what to do next. Names from files are never markup."""
