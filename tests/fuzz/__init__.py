"""One fuzzer over all readers and all commands: `python -m tests.fuzz --minutes 60`, or `make fuzz`.

Valid small files (`corpus`) are damaged (`mutation`) and given to readers and commands (`cases`), in a process that is
watched (`watching`): an exception that is not ours, an exit status other than 0 and 2, a hang, too much memory, files
left behind and outputs half written are failures. Case `k` of a seed is always the same, and can be repeated alone.
"""
