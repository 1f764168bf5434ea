/** Resource usage of a benchmarked server. CPU time is user and system together. */
export interface Usage {
  readonly cpuMicroseconds: number
  readonly rssBytes: number
}

/** Call it when a benchmarked server listens. Sends the URL to the benchmark, then answers its questions. */
export function announce(url: string): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuMicroseconds: user + system, rssBytes: process.memoryUsage.rss() } satisfies Usage)
  })
  process.once('disconnect', () => process.exit())
  process.send?.({ url })
}
