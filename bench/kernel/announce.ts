/** Resources that a measured server has used. CPU time is user and system time together. */
export interface Usage {
  readonly cpuMicroseconds: number
  readonly rssBytes: number
}

/** Called when a measured server listens. Sends the URL to the benchmark, then responds to its questions. */
export function announceServerUrl(url: string): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuMicroseconds: user + system, rssBytes: process.memoryUsage.rss() } satisfies Usage)
  })
  process.once('disconnect', () => process.exit())
  process.send?.({ url })
}
