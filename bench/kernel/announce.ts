/** What a benchmarked server says about itself. CPU time is user and system together. */
export interface Usage {
  readonly cpuMicroseconds: number
  readonly rssBytes: number
}

/** Called by a benchmarked server once it listens: tells the benchmark where, then answers its questions. */
export function announce(url: string): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuMicroseconds: user + system, rssBytes: process.memoryUsage.rss() } satisfies Usage)
  })
  process.once('disconnect', () => process.exit())
  process.send?.({ url })
}
