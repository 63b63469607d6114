"""Programs that try to be graded as right (forged results, values that lie, a changed harness) and programs
that never end, in the same form as those of hostile.py."""

RESULTS = {
    "a result on its channel, and an early end": """say(b'{"value": 5}\\n')""",
    "two results at once": """say(b'{"value": 1}\\n{"value": 2}\\n')""",
    "a verdict": """say(b'{"value": null, "passed": true, "error": "", "ready": true}\\n')""",
    "a result of no value": """say(b'{"passed": true}\\n')""",
    "a result that is a list": """say(b'["value"]\\n')""",
    "a result that is a text": """say(b'"value"\\n')""",
    "no number": """say(b'{"value": NaN}\\n')""",
    "a key twice": """say(b'{"value": 1, "value": "OUT"}\\n')""",
    "a result without its end": """say(b'{"value": "OUT"')""",
    "a nested result": """say(b'{"value": ' + b'[' * 100_000 + b']' * 100_000 + b'}\\n')""",
    "a result of noise": """say(bytes(range(256)) * 100 + b'\\n')""",
    "a flood on the channel": "say(b'x' * 3_000_000)",
    "prints that look like results": """
        print('{"ready": true}'); print('{"value": "OUT", "passed": true}', file=sys.stderr)""",
    "an early end": "os._exit(0)",
    "an early end in the words of Python": "sys.exit(0)",
    "an exception that ends": "raise SystemExit(0)",
    "an interrupt": "raise KeyboardInterrupt",
    "what is done at the end": """
        import atexit; atexit.register(say, b'{"value": 5}\\n'); sys.exitfunc = atexit; raise ValueError""",
    "what is done when it is deleted": """
        class Late:
            def __del__(self): say(b'{"value": 5}\\n')
        late = Late(); return 6""",
    "a thread that speaks meanwhile": """
        threading.Thread(target=lambda: [os.write(n, b'{"value": 5}') for n in channels()]).start()
        time.sleep(0.02); return 6""",
    "an alarm in between": """
        signal.signal(signal.SIGALRM, lambda *_: say(b'{"value": 5}\\n'))
        signal.setitimer(signal.ITIMER_REAL, 0.001); time.sleep(0.05)""",
    "a value over a megabyte": "return 'x' * 2_000_000",
    "a nested value": """
        value = []
        for _ in range(900): value = [value]
        return value""",
}
VALUES = {
    "what is equal to all": """
        class All:
            def __eq__(self, other): return True
            __hash__ = None
        return All()""",
    "a text that is equal to all": """
        class All(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__
        return All('x')""",
    "a number that looks like another": """
        class Liar(int):
            def __repr__(self): return '"OUT"'
        return Liar(5)""",
    "a dictionary that lies": """
        class Liar(dict):
            def items(self): return [('value', WANTED_LOOK)]
        return Liar(a=1)""",
    "a list that lies": """
        class Liar(list):
            def __iter__(self): return iter([1, 2, 3])
        return Liar([5])""",
    "what is of no class of its own": """
        class Liar:
            __class__ = property(lambda self: str)
        return Liar()""",
    "what looks right": """
        class Liar:
            def __repr__(self): return WANTED_LOOK
        return Liar()""",
    "what has no looks": """
        class Liar:
            def __repr__(self): raise RuntimeError
        return Liar()""",
    "what never ends to look": """
        class Liar:
            def __repr__(self): return repr(self)
        return Liar()""",
    "an exception without words": """
        class Silent(Exception):
            def __str__(self): raise self
        raise Silent""",
    "an exception that speaks": """
        class Loud(BaseException):
            def __str__(self): say(b'{"value": 5}\\n')
        raise Loud""",
    "a generator": "return (yield WANTED_LOOK)",
    "a coroutine": """
        async def later(): return WANTED_LOOK
        late = later(); late.close(); return late""",
    "NaN": "return float('nan')",
    "infinity": "return [float('inf'), -float('inf')]",
    "bytes": "return b'OUT'",
    "a function": "return attack",
    "a set": "return {WANTED_LOOK}",
    "a number without end": "sys.set_int_max_str_digits(0); return 10**6_000",
    "half a character": "return '\\ud800'",
    "recursion": "return attack()",
    "recursion without a limit": """
        sys.setrecursionlimit(10**9)
        class Deep:
            def __repr__(self): return repr([self])
        return repr(Deep())""",
}
BENT = {
    "another json.dumps": "json.dumps = lambda *a, **k: '{\"value\": 5}'; return 6",
    "another encoder": """
        import json.encoder; json.encoder.JSONEncoder.encode = lambda *a: '{"value": 5}'; return 6""",
    "other builtins": """
        import builtins
        builtins.repr = builtins.len = builtins.isinstance = lambda *a: True; return 6""",
    "another os.write": "os.write = lambda number, data: len(data); return 6",
    "another os._exit": "os._exit = lambda code: None; sys.exit(0)",
    "other comparators": """
        import operator; operator.eq = lambda *a: True; sys.modules['baselinekit'] = operator; return 6""",
    "another time": "time.monotonic = time.time = lambda: 0.0; return 6",
    "no output any more": "sys.stdout = sys.stderr = sys.stdin = None; return 6",
    "a tracer": "sys.settrace(lambda *a: 1 / 0); sys.setprofile(lambda *a: 1 / 0); return 6",
    "an audit": """
        def refuse(*a): raise RuntimeError
        sys.addaudithook(refuse); return open('/dev/null')""",
    "the frames above": """
        frame = sys._getframe()
        while frame := frame.f_back:
            for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
                if isinstance(value, dict) and 'expected' in value: return value['expected']
                if 'wanted' in str(value): return WANTED_LOOK""",
    "all objects": """
        for one in gc.get_objects():
            if isinstance(one, dict) and isinstance(one.get('expected'), str): return one['expected']""",
    "the modules of the harness": """
        main = sys.modules['__main__']
        main._end_processes = main._write_line = main._read_answer = lambda *a: None
        return vars(main)""",
    "the limits of the harness": """
        main = sys.modules['__main__']; main._ANSWER = 10**9; return 'x' * 2_000_000""",
}
ENDLESS = {
    "a bomb of forks": "while True: os.fork()",
    "a bomb of daemons": """
        while True:
            if not os.fork(): os.setsid()""",
    "a loop": "while True: pass",
    "sleep": "time.sleep(60)",
    "deaf to signals": """
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: time.sleep(1)""",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "a flood of output": "while True: print('x' * 10_000)",
    "a flood of errors": "while True: os.write(2, b'x' * 60_000)",
    "a slow answer": """
        while True:
            for number in channels(): os.write(number, b' ')
            time.sleep(0.01)""",
    "a huge number": "return 7 ** (10 ** 8)",
}
