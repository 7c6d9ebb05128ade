"""The program on the instance: it brings up the engine and says on the console what it does and what failed.

Python 3.9, standard library only, relative imports only: the same files run here, in tests and on the box, where
they are installed as the package `deployer_agent`.
"""
