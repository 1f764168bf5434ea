/** Watches the turns of this thread's event loop, where the product runs; the answer ends it with the longest one, in ms of CPU. */
export function watchTurns(): () => number {
  let longest = 0
  let last = process.threadCpuUsage()
  const look = () => {
    const { user, system } = process.threadCpuUsage(last)
    longest = Math.max(longest, (user + system) / 1_000)
    last = process.threadCpuUsage()
  }
  const timer = setInterval(look, 5)
  return () => {
    clearInterval(timer)
    // Work that never left the event loop ends before the timer's first turn.
    look()
    return longest
  }
}
