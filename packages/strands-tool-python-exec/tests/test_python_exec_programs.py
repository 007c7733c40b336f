"""Ordinary programs run, and print exactly what they print anywhere."""

from __future__ import annotations

import pytest
from python_exec_calls import call

pytestmark = pytest.mark.usefixtures("held")

PROGRAMS = {
    "print": ("print(1)", "1\n"),
    "unicode": ("print('grüße, 世界 🙂')", "grüße, 世界 🙂\n"),
    "nothing": ("", ""),
    "comprehension": ("print([n * n for n in range(5)])", "[0, 1, 4, 9, 16]\n"),
    "generator": ("def g():\n    yield from 'ab'\nprint(*g())", "a b\n"),
    "recursion": ("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nprint(f(15))", "610\n"),
    "classes": ("class A:\n    def m(self): return 1\nclass B(A):\n    pass\nprint(B().m())", "1\n"),
    "property": ("class A:\n    @property\n    def x(self): return 2\nprint(A().x)", "2\n"),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(1))",
        "P(x=1)\n",
    ),
    "enum": ("import enum\nclass E(enum.Enum):\n    A = 1\nprint(E.A)", "E.A\n"),
    "main": ("if __name__ == '__main__':\n    print('main')", "main\n"),
    "pickle": (
        "import pickle\nclass A: x = 1\na = A()\na.y = 2\nprint(pickle.loads(pickle.dumps(a)).y)",
        "2\n",
    ),
    "match": ("match [1, 2]:\n    case [a, b]: print(a + b)", "3\n"),
    "caught": ("try:\n    1 / 0\nexcept ZeroDivisionError as e: print(e)", "division by zero\n"),
    "statistics": ("import statistics\nprint(statistics.stdev([1, 2, 3, 4]))", "1.2909944487358056\n"),
    "decimal": ("from decimal import Decimal\nprint(Decimal('0.1') + Decimal('0.2'))", "0.3\n"),
    "fractions": ("from fractions import Fraction\nprint(Fraction(1, 3) + 1)", "4/3\n"),
    "random": ("import random\nprint(0 <= random.Random().random() < 1)", "True\n"),
    "secrets": ("import secrets\nprint(len(secrets.token_hex(8)))", "16\n"),
    "hash": ("import hashlib\nprint(hashlib.sha256(b'').hexdigest()[:8])", "e3b0c442\n"),
    "json": ("import json\nprint(json.dumps({'a': [1, None]}))", '{"a": [1, null]}\n'),
    "csv": (
        "import csv, io\nprint(list(csv.reader(io.StringIO('a,b\\n1,2'))))",
        "[['a', 'b'], ['1', '2']]\n",
    ),
    "regex": ("import re\nprint(re.findall(r'\\d+', 'a1b22'))", "['1', '22']\n"),
    "datetime": ("import datetime as d\nprint(d.date(2024, 2, 28) + d.timedelta(2))", "2024-03-01\n"),
    "local-time": ("import datetime as d\nprint(d.datetime.fromtimestamp(0))", "1970-01-01 00:00:00\n"),
    "collections": ("from collections import Counter\nprint(Counter('aab'))", "Counter({'a': 2, 'b': 1})\n"),
    "itertools": ("from itertools import permutations\nprint(len(list(permutations(range(5)))))", "120\n"),
    "functools": ("from functools import reduce\nprint(reduce(lambda a, b: a * b, range(1, 6)))", "120\n"),
    "big-numbers": ("print(2 ** 200)", "1606938044258990275541962092341162602522202993782792835301376\n"),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n    print(sum(pool.map(abs, range(-9, 1))))",
        "45\n",
    ),
    "asyncio": (
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n\n"
        "async def main():\n    print(await asyncio.gather(f(1), f(2)))\nasyncio.run(main())",
        "[1, 2]\n",
    ),
    "sqlite": (
        "import sqlite3\nwith sqlite3.connect('a.db') as db:\n"
        "    db.execute('create table t (x)')\n    db.execute('insert into t values (7)')\n"
        "    print(db.execute('select x from t').fetchone())\ndb.close()",
        "(7,)\n",
    ),
    "files": (
        "from pathlib import Path\nimport shutil\nPath('d').mkdir()\nPath('d/a').write_text('x')\n"
        "shutil.copy2('d/a', 'b')\nprint(Path('b').read_text(), sorted(p.name for p in Path().iterdir()))",
        "x ['b', 'd']\n",
    ),
    "temporary": (
        "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n    f.write('x')\n    f.seek(0)\n"
        "    print(f.read())",
        "x\n",
    ),
    "zip": (
        "import zipfile\nwith zipfile.ZipFile('a.zip', 'w') as z: z.writestr('b/c', 'x')\n"
        "with zipfile.ZipFile('a.zip') as z: z.extractall()\nprint(open('b/c').read())",
        "x\n",
    ),
    "compression": ("import zlib\nprint(zlib.decompress(zlib.compress(b'x' * 3)))", "b'xxx'\n"),
    "ast": ("import ast\nprint(ast.unparse(ast.parse('a=1')))", "a = 1\n"),
    "exit": ("print(1)\nraise SystemExit", "1\n"),
    "exit-hooks": ("import atexit\natexit.register(print, 'bye')", "bye\n"),
    "end-of-input": ("try:\n    input()\nexcept EOFError:\n    print('no input')", "no input\n"),
    "sleep": ("import time\ntime.sleep(0.001)\nprint('slept')", "slept\n"),
    "xml": ("import xml.etree.ElementTree as E\nprint(E.fromstring('<a><b/></a>')[0].tag)", "b\n"),
    "url": ("from urllib.parse import urlsplit\nprint(urlsplit('http://a/b').path)", "/b\n"),
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n"
        "print(unittest.TestResult().wasSuccessful())",
        "True\n",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_ordinary_program_prints_what_it_prints_anywhere(name: str) -> None:
    code, expected = PROGRAMS[name]
    answer = call(code)
    assert (answer["stdout"], answer["stderr"], answer.get("error")) == (expected, "", None)
