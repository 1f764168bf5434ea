/**
 * A program that runs in its own process and requests `/health/live` every 20 ms, each time on a new connection, as an
 * orchestrator does. Its argument is the port. It responds to each message with the durations in milliseconds of all
 * requests since the previous message. A failed request counts as infinite.
 */
import { get } from 'node:http'

const port = Number(process.argv[2])
let probes: Promise<number>[] = []

const probe = () =>
  new Promise<number>((resolve) => {
    const startedAt = performance.now()
    get({ port, path: '/health/live', agent: false }, (response) => {
      const isAlive = response.statusCode === 200
      response.resume().once('end', () => resolve(isAlive ? performance.now() - startedAt : Number.POSITIVE_INFINITY))
    }).once('error', () => resolve(Number.POSITIVE_INFINITY))
  })

setInterval(() => probes.push(probe()), 20)
process.on('message', async () => {
  const requested = probes
  probes = []
  process.send?.(await Promise.all(requested))
})
process.once('disconnect', () => process.exit())
