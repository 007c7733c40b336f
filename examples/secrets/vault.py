"""Stands for the program that keeps your keys: prints the one that is asked for."""

import getpass
import hashlib
import sys

print(hashlib.sha256(f"{getpass.getuser()} {sys.argv[1]}".encode()).hexdigest())
