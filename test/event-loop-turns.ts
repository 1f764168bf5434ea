export interface TurnWatch {
  /** The longest turn since the last question, in ms of CPU. */
  longest(): number
  end(): void
}

/** Watches the turns of this thread's event loop, where the product runs, by what they take of the processor. */
export function watchTurns(): TurnWatch {
  let longest = 0
  let last = process.threadCpuUsage()
  const look = () => {
    const { user, system } = process.threadCpuUsage(last)
    longest = Math.max(longest, (user + system) / 1_000)
    last = process.threadCpuUsage()
  }
  const timer = setInterval(look, 5)
  return {
    longest() {
      // Work that never left the event loop ends before the timer's first turn.
      look()
      const found = longest
      longest = 0
      return found
    },
    end: () => clearInterval(timer),
  }
}
