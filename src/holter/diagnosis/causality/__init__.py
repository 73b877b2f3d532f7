"""Who died first, who waited for whom, and who only passed the news on: children, workers, ranks, wrappers, tasks.

`ends` reads one process, `ranks` and `children` how several hang together, `console` what was printed by those in which
nothing of ours ran, `origin` goes from the program back to who died first.
"""
