import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy in front of a server that can simulate a lost network, for tests of connections without a response. */
export interface HalfOpenProxy {
  readonly host: string
  readonly port: number
  /** Number of open connections of clients. */
  readonly clients: number
  /** Number of all accepted connections of clients. */
  readonly accepted: number
  /**
   * From now on, connections are accepted and stay open, but no byte passes in either direction. Neither side is
   * notified when the other one closes, as with a lost host or a firewall that drops connections.
   */
  fallSilent(): void
  /** Lets only the newest `count` connections lose the network. Other and new connections continue. */
  loseNewest(count: number): void
  /** New connections work again. Earlier ones stay silent indefinitely. */
  recover(): void
  /** Closes all connections. */
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
    // Without a reader, the end of the client would not be detected.
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
