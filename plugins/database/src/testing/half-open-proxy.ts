import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy in front of a server that can lose the network: for tests of what happens when nobody answers any more. */
export interface HalfOpenProxy {
  readonly host: string
  readonly port: number
  /** Connections of clients that are open right now. */
  readonly clients: number
  /** Connections of clients that were ever accepted. */
  readonly accepted: number
  /**
   * From now on connections are accepted and stay open, but no byte passes, in either direction, and neither side learns
   * that the other one closed: what a lost host or a forgetful firewall looks like.
   */
  fallSilent(): void
  /** The newest connections alone lose the network, as many as given. Others and new ones go on. */
  loseNewest(count: number): void
  /** New connections pass again. Those from before stay silent for ever. */
  recover(): void
  /** Ends all connections. */
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
    // Without a reader the end of the client would never be seen.
    client.on('data', (bytes) => pair.silent || server?.write(bytes))
    client.once('end', () => {
      clients.delete(client)
      // A lost host answers no goodbye.
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
