import type { RedisTarget } from './contract.ts'
import { destroyClient, placeOf, RedisClients, type RedisSettings, withinTime } from './redis-clients.ts'
import { clientError, noResponseReason } from './redis-errors.ts'

/**
 * Connects, reads the time of the server and disconnects, within the connect timeout.
 *
 * @returns milliseconds since the epoch
 * @throws PlinthError `PLINTH_SHARED_STORE_UNAVAILABLE`, `PLINTH_SHARED_STORE_REFUSED`
 */
export async function readRedisTime(settings: RedisSettings, signal: AbortSignal | undefined): Promise<number> {
  const { db, username, password, connectTimeout } = settings.login
  const client = new RedisClients(settings).open({
    lazyConnect: true,
    // The ready check sends commands that are forbidden before the login.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
  })
  let received: unknown
  client.on('error', (error: unknown) => {
    received = error
  })
  const giveUp = () => client.disconnect()
  signal?.addEventListener('abort', giveUp)
  const read = async () => {
    await client.connect()
    // Repeats the login and the selection of the database, because the client ignores their errors.
    if (password !== undefined) {
      await (username === undefined ? client.auth(password) : client.auth(username, password))
    }
    if (db !== 0) await client.select(db)
    return client.time()
  }
  try {
    signal?.throwIfAborted()
    const [seconds = 0, microseconds = 0] = await withinTime(connectTimeout, read(), () => new Error(noResponseReason))
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
  } catch (error) {
    throw clientError(placeOf(settings), received ?? error)
  } finally {
    signal?.removeEventListener('abort', giveUp)
    destroyClient(client)
  }
}

/** Returns the configured connection options with the values of the target. */
export function withTarget(running: RedisSettings, target: RedisTarget): RedisSettings {
  const { host, port, database, password } = target
  const typed = password === '' ? {} : { password }
  // The addresses of sentinels and of a cluster are not in the form of the installer.
  if (running.mode !== 'single') return { ...running, login: { ...running.login, ...typed } }
  const { username: _username, password: _password, ...anonymous } = running.login
  const [server] = running.nodes
  // The configured credentials must not be sent to another server.
  const isSame = server?.host === host && server.port === port
  const login = { ...(isSame ? running.login : anonymous), db: database, ...typed }
  return { ...running, nodes: [{ host, port }], login }
}
