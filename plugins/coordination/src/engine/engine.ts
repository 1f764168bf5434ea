/** Whoever notices a due task tries to run it. */
export function embeddedEngine(): Engine {
  let run: ((task: string) => Promise<void>) | undefined
  return {
    room: (free) => free,
    start: async (start) => {
      run = start
    },
    dispatch: (task) => void run?.(task),
    drain: async () => {
      run = undefined
    },
    stop: async () => {
      run = undefined
    },
  }
}

/**
 * Carries a due run to an instance that does it. Whether it may begin is decided there by the lease in the database, so an
 * engine may deliver twice, late or not at all: what stays due is dispatched again. What it must not do is to wait for
 * a run before it delivers the next.
 */
export interface Engine {
  /** @param run begins the task's run if it is due; settles when that has ended, and never rejects */
  start(run: (task: string) => Promise<void>): Promise<void>
  /** How many due runs one look may dispatch. @param free runs that this instance could begin */
  room(free: number): number
  /** @param turn names the state in which the task is due; the same on every instance that sees it, never used again */
  dispatch(task: string, turn: string): void
  /** Takes no more runs, and leaves those on their way to other instances; runs that go on are left alone. */
  drain(): Promise<void>
  /** Delivers nothing more and releases its connections, also while runs go on. */
  stop(): Promise<void>
}
