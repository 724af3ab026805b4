"""What hardware needs: golden vectors of a program (`vectors`), and models of blocks.

A block is a folder with its SystemVerilog, a cycle model and a bench; this release holds no block yet.
"""
