/* The engine in the host's own Python (`--engine host`), where the host's rules hold.
 *
 * That Python ends before the process does. A thread that asks for it then, to note its own end for instance, would be
 * killed in the middle, or find nothing left. So the session closes the door when the host's exit handlers run: from
 * then on only the thread that ends the Python enters it, and the others are refused. */
#include <pthread.h>

static struct {
    pthread_mutex_t lock; /* of whoever is in the host's Python; only `cannery_close` ever waits for it */
    int closed;
    pthread_t closer;
} door = { .lock = PTHREAD_MUTEX_INITIALIZER };

void cannery_close(void)
{
    pthread_mutex_lock(&door.lock);
    door.closed = 1;
    door.closer = pthread_self();
    pthread_mutex_unlock(&door.lock);
}

/* The host may have a state for this thread already; when its Python is gone, no thread has one. */
static void enter_host(struct cannery_thread *thread)
{
    pthread_mutex_lock(&door.lock);
    outside = door.closed && (!pthread_equal(door.closer, pthread_self()) || PyGILState_GetThisThreadState() == NULL);
    if (!outside)
        services->thread_engine(thread)->state = (void *)(uintptr_t)(1 + PyGILState_Ensure());
}

static void leave_host(struct cannery_thread *thread)
{
    if (!outside)
        PyGILState_Release((PyGILState_STATE)((uintptr_t)services->thread_engine(thread)->state - 1));
    pthread_mutex_unlock(&door.lock);
}

static void retire_host(struct cannery_thread *thread)
{
    enter_host(thread);
    if (!outside)
        Py_CLEAR(services->thread_engine(thread)->object);
    leave_host(thread);
}

static int holds_host(void) { return PyGILState_Check(); }

static void before_fork_host(struct cannery_thread *thread) { (void)thread; } /* the host's Python does its own steps */

static void after_fork_host(struct cannery_thread *thread, int child)
{
    if (!child)
        return;
    pthread_mutex_init(&door.lock, NULL); /* a thread that does not exist here may have had it */
    enter_host(thread);
    if (!outside)
        begin_child(thread);
    leave_host(thread);
}
