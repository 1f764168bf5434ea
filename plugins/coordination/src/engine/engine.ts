/** Returns an engine that runs a due task on the instance that finds it. */
export function createEmbeddedEngine(): Engine {
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
 * Passes due runs to an instance. The lease in the database decides whether a run may begin, so an engine may pass a
 * run twice, late or not at all. A task that stays due is dispatched again. An engine must not wait for the end of a
 * run before it passes the next one.
 */
export interface Engine {
  /** @param run begins the run if the task is due; settles after the run and never rejects */
  start(run: (task: string) => Promise<void>): Promise<void>
  /**
   * Returns how many due runs one poll may dispatch.
   *
   * @param free number of runs that this instance could begin
   */
  room(free: number): number
  /** @param turn identifies this due run of the task; the same on all instances and never used again */
  dispatch(task: string, turn: string): void
  /** Accepts no more runs and leaves waiting jobs to other instances. Current runs continue. */
  drain(): Promise<void>
  /** Passes no more runs and closes its connections, even while runs continue. */
  stop(): Promise<void>
}
