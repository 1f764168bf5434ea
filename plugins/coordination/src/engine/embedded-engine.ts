import type { Engine } from './engine.ts'

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
