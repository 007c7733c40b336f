import pathlib
import threading


def note(text):
    with open('made', 'a', encoding='utf-8') as stream:
        stream.write(text + '\n')


def wait(text):
    if not pathlib.Path('go').exists():
        print('waits in', text, flush=True)
        threading.Event().wait()
