import { Redis } from 'ioredis'
import type { RedisServer, RedisTarget } from './contract.ts'
import { sharedStoreError } from './errors.ts'

/**
 * Connects once, asks the server for its time and leaves.
 *
 * @returns milliseconds since the epoch
 * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`, `PLINTH_SHARED_STORE_REFUSED`
 */
export async function redisTime(
  server: RedisServer['options'],
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<number> {
  const { db = 0, ...login } = server
  const { username, password } = login
  const client = new Redis({
    ...login,
    lazyConnect: true,
    // It asks for more than is allowed before a login.
    enableReadyCheck: false,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let heard: unknown
  client.on('error', (error: unknown) => {
    heard = error
  })
  const giveUp = () => client.disconnect()
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
    // What Node.js reports of several addresses at once has no message of its own.
    const details = { place: `${server.host}:${server.port}`, reason: cause.message || String(cause.code) }
    throw sharedStoreError(
      isRefusal ? 'PLINTH_SHARED_STORE_REFUSED' : 'PLINTH_SHARED_STORE_UNAVAILABLE',
      details,
      cause,
    )
  } finally {
    signal?.removeEventListener('abort', giveUp)
    client.disconnect()
  }
}

/** The running settings with those of the target in their place. */
export function withTarget(running: RedisServer['options'], target: RedisTarget): RedisServer['options'] {
  const { username: _username, password: _password, ...rest } = running
  const { host, port, database, password } = target
  // Another server knows nothing of the user of this one.
  const isSame = running.host === host && running.port === port
  return {
    ...(isSame ? running : rest),
    ...{ host, port, db: database },
    ...(password === '' ? {} : { password }),
  }
}
