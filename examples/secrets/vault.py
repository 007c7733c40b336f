"""An example of a program that stores your keys: it prints the one that is asked for."""

import getpass
import hashlib
import sys

print(hashlib.sha256(f"{getpass.getuser()} {sys.argv[1]}".encode()).hexdigest())
