def start():
    class T: pass
    def h(thread, now, *args): return 207000
    def rec(thread, now, a, b): return 0
    def new_thread(o): return T()
    def step(*a): return None
    return ([h]*512+[rec]+[h]*1, new_thread, step, step, step, lambda: None)
