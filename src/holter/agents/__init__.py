"""PROCESS `holter agent`: asks a sweep for trials, runs a program or a function, tells what became of them."""
