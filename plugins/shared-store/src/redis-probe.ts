import { hostAndPort, reasonOf } from '@plinth/kernel'
import { Redis } from 'ioredis'
import type { RedisTarget } from './contract.ts'
import { sharedStoreError } from './errors.ts'
import { noAnswer, type RedisLogin } from './redis-connection.ts'

/**
 * Connects once, asks the server for its time and leaves, all within the time for connecting.
 *
 * @returns milliseconds since the epoch
 * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`, `PLINTH_SHARED_STORE_REFUSED`
 */
export async function redisTime(server: RedisLogin, signal: AbortSignal | undefined): Promise<number> {
  const { db = 0, ...login } = server
  const { username, password } = login
  const client = new Redis({
    ...login,
    lazyConnect: true,
    // It asks for more than is allowed before a login.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let heard: unknown
  client.on('error', (error: unknown) => {
    heard = error
  })
  const giveUp = () => client.disconnect()
  // Destroying it fails whatever still waits for an answer.
  const deadline = setTimeout(() => client.stream?.destroy(new Error(noAnswer)), server.connectTimeout)
  signal?.addEventListener('abort', giveUp)
  try {
    signal?.throwIfAborted()
    await client.connect()
    // Once more, because the client forgives a login that is refused, and a database too.
    if (password != null) await (username == null ? client.auth(password) : client.auth(username, password))
    if (db !== 0) await client.select(db)
    const [seconds = 0, microseconds = 0] = await client.time()
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
  } catch (error) {
    const cause = (heard ?? error) as Error & { readonly code?: unknown }
    const isRefusal = cause.name === 'ReplyError'
    const details = { place: hostAndPort(server.host, server.port), reason: reasonOf(cause) }
    throw sharedStoreError(
      isRefusal ? 'PLINTH_SHARED_STORE_REFUSED' : 'PLINTH_SHARED_STORE_UNAVAILABLE',
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

/** The running settings with those of the target in their place. */
export function withTarget(running: RedisLogin, target: RedisTarget): RedisLogin {
  const { username: _username, password: _password, ...rest } = running
  const { host, port, database, password } = target
  // Another server knows nothing of the user of this one.
  const isSame = running.host === host && running.port === port
  return { ...(isSame ? running : rest), host, port, db: database, ...(password === '' ? {} : { password }) }
}
