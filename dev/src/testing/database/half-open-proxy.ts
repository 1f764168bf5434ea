import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy in front of a server, for tests of connections that no longer respond. */
export interface HalfOpenProxy {
  readonly host: string
  readonly port: number
  readonly clients: number
  /** Number of connections that clients have opened since the start. */
  readonly accepted: number
  /**
   * Connections stay open, but no data passes. Like after the loss of a host, no side learns that the other one has
   * closed.
   */
  fallSilent(): void
  /** Stops passing data on the newest `count` connections. */
  loseNewest(count: number): void
  /** Passes data on new connections again. Earlier connections stay without data. */
  recover(): void
  close(): Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startHalfOpenProxy(target: {
  readonly host?: string
  readonly port: number
}): Promise<HalfOpenProxy> {
  const pairs = new Set<{ readonly client: Socket; readonly server?: Socket; silent: boolean }>()
  const clients = new Set<Socket>()
  let silent = false
  let accepted = 0

  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const server = silent ? undefined : connect({ host: target.host ?? '127.0.0.1', port: target.port })
    const pair = { client, silent, ...(server === undefined ? {} : { server }) }
    pairs.add(pair)
    clients.add(client)
    accepted++
    client.setNoDelay(true)
    client.on('error', () => {})
    client.once('close', () => {
      clients.delete(client)
      if (pair.silent) return
      pairs.delete(pair)
      server?.destroy()
    })
    // Without a reader, Node.js would not report the end of the connection.
    client.on('data', (bytes) => pair.silent || server?.write(bytes))
    client.once('end', () => {
      clients.delete(client)
      // A lost host does not respond to the end of a connection.
      if (!pair.silent) server?.end()
    })
    server?.setNoDelay(true)
    server?.on('error', () => pair.silent || client.destroy())
    server?.on('data', (bytes) => pair.silent || client.write(bytes))
    server?.once('close', () => pair.silent || client.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { address, port } = proxy.address() as AddressInfo

  return {
    host: address,
    port,
    get clients() {
      return clients.size
    },
    get accepted() {
      return accepted
    },
    fallSilent() {
      silent = true
      for (const pair of pairs) pair.silent = true
    },
    loseNewest(count) {
      const open = [...pairs].filter(({ client, silent }) => clients.has(client) && !silent)
      for (const pair of open.slice(-count)) pair.silent = true
    },
    recover() {
      silent = false
    },
    async close() {
      const closed = new Promise<void>((resolve) => proxy.close(() => resolve()))
      for (const { client, server } of pairs) {
        client.destroy()
        server?.destroy()
      }
      await closed
    },
  }
}
