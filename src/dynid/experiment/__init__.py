"""The experiment file: everything particular to one robot and one set of logs."""
