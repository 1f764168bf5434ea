import type { Server, Socket } from 'node:net'

const known = new WeakMap<Server, ReadonlySet<Socket>>()

/** The open connections of a server: one set for all who ask, kept from the first time on. */
export function openConnections(server: Server): ReadonlySet<Socket> {
  const open = known.get(server)
  if (open !== undefined) return open
  const sockets = new Set<Socket>()
  known.set(server, sockets)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}
