import { errorReason, hostAndPort } from '@plinth/kernel'
import { Redis } from 'ioredis'
import type { RedisTarget } from './contract.ts'
import { noResponseReason, type RedisLogin, sharedStoreError } from './redis-connection.ts'

/**
 * Connects, reads the time of the server and disconnects, within the connect timeout.
 *
 * @returns milliseconds since the epoch
 * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`, `PLINTH_SHARED_STORE_REFUSED`
 */
export async function readRedisTime(server: RedisLogin, signal: AbortSignal | undefined): Promise<number> {
  const { db = 0, ...login } = server
  const { username, password } = login
  const client = new Redis({
    ...login,
    lazyConnect: true,
    // The ready check sends commands that are forbidden before the login.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let received: unknown
  client.on('error', (error: unknown) => {
    received = error
  })
  const giveUp = () => client.disconnect()
  // Destroying the socket makes all waiting commands fail.
  const deadline = setTimeout(() => client.stream?.destroy(new Error(noResponseReason)), server.connectTimeout)
  signal?.addEventListener('abort', giveUp)
  try {
    signal?.throwIfAborted()
    await client.connect()
    // Repeats the login and the selection of the database, because the client ignores their errors.
    if (password != null) await (username == null ? client.auth(password) : client.auth(username, password))
    if (db !== 0) await client.select(db)
    const [seconds = 0, microseconds = 0] = await client.time()
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
  } catch (error) {
    const cause = received ?? error
    const isRejection = cause instanceof Error && cause.name === 'ReplyError'
    const details = { place: hostAndPort(server.host, server.port), reason: errorReason(cause) }
    throw sharedStoreError(
      isRejection ? 'PLINTH_SHARED_STORE_REFUSED' : 'PLINTH_SHARED_STORE_UNAVAILABLE',
      details,
      cause,
    )
  } finally {
    clearTimeout(deadline)
    signal?.removeEventListener('abort', giveUp)
    client.disconnect()
    client.stream?.destroy()
  }
}

/** Returns the configured connection options with the values of the target. */
export function withTarget(running: RedisLogin, target: RedisTarget): RedisLogin {
  const { username: _username, password: _password, ...rest } = running
  const { host, port, database, password } = target
  // The configured credentials must not be sent to another server.
  const isSame = running.host === host && running.port === port
  return { ...(isSame ? running : rest), host, port, db: database, ...(password === '' ? {} : { password }) }
}
