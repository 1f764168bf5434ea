/** Returns an engine that runs a due task on the instance that finds it. */
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
 * Delivers due runs to an instance that runs them. The lease in the database decides whether a run may begin, so an
 * engine may deliver twice, late or not at all: a task that stays due is dispatched again. An engine must not wait for
 * a run before it delivers the next one.
 */
export interface Engine {
  /** @param run begins the run of the task if it is due; settles after the run and never rejects */
  start(run: (task: string) => Promise<void>): Promise<void>
  /**
   * Returns how many due runs one poll may dispatch.
   *
   * @param free runs that this instance could begin
   */
  room(free: number): number
  /** @param turn identifies the state in which the task is due; equal on all instances that see it, never reused */
  dispatch(task: string, turn: string): void
  /** Accepts no more runs and leaves jobs that have not begun to other instances. Current runs continue. */
  drain(): Promise<void>
  /** Delivers nothing more and releases its connections, even while runs continue. */
  stop(): Promise<void>
}
