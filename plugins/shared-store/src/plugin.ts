import { database, expiryClock } from '@plinth/database'
import {
  type Clock,
  definePlugin,
  errorCodeOf,
  errorReason,
  type HealthReport,
  healthCheck,
  type Logger,
  withinDeadline,
} from '@plinth/kernel'
import { keys, type SharedStoreConfig } from './config.ts'
import { type RedisClientOptions, type RedisServer, redisProbe, redisSecret, sharedStore } from './contract.ts'
import { DatabaseStore } from './database-store.ts'
import { createEntries } from './migrations/0001-create-entries.ts'
import { followPasswordFile, passwordSource, readPassword } from './password-file.ts'
import { RedisStore } from './redis-store.ts'

/** State that all instances share: in Redis if `platform.cache.enabled` is true, otherwise in the database. */
export default definePlugin({
  id: 'shared-store',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database },
  provides: [sharedStore, redisProbe, redisSecret],
  contributes: [healthCheck],
  config: keys,
  configGroups: {
    cache: { en: 'Cache (Redis)', 'zh-CN': '缓存（Redis）' },
    'shared-store': { en: 'Shared store', 'zh-CN': '共享存储' },
  },
  migrations: [createEntries],
  processTables: ['shared_store_message'],
  async setup({ services, config, clock: processClock, root, log, roles, provide, contribute, onStop }) {
    const { clock } = services.database
    const source = passwordSource(config, root)
    provide(redisSecret, Object.freeze({ password: config.get('platform.cache.password') }))
    provide(redisProbe, {
      async time(target, signal) {
        const { readRedisSettings } = await import('./redis-clients.ts')
        const { readRedisTime, withTarget } = await import('./redis-probe.ts')
        const running = readRedisSettings(config, readPassword(source))
        return readRedisTime(target === undefined ? running : withTarget(running, target), signal)
      },
    })
    const serves = roles.has('web') || roles.has('worker')
    const runUntilStop = (work: (signal: AbortSignal) => Promise<void>) => {
      const stop = new AbortController()
      const ended = work(stop.signal)
      onStop(async () => {
        stop.abort()
        await ended
      })
    }
    if (config.get('platform.cache.enabled')) {
      const password = readPassword(source)
      const { clients, connection, messages, server, verify } = await redisConnections(config, password, log)
      onStop(() => {
        messages.close()
        connection.close()
      })
      if ('path' in source) {
        const adopt = (changed: string) => clients.usePassword(changed)
        const options = { path: source.path, password, verify, adopt, clock: processClock, log }
        runUntilStop((signal) => followPasswordFile(options, signal))
      }
      // A process that does not serve, such as a command, connects when it sends the first command.
      if (serves) {
        await connection.connect()
        for (const warning of (await connection.inspect()).warnings) log.warn(warning)
      }
      const store = new RedisStore(connection, messages, server, clients.settings.mode === 'cluster', clock)
      provide(sharedStore, store)
      // An instance without Redis can still serve, because the database is the authority. A command judges the start.
      contribute(healthCheck, 'redis', () =>
        serves ? outageAsWarning(processClock, () => store.check()) : store.check(),
      )
      return
    }
    // No health check is needed here, because the database has one.
    const store = new DatabaseStore({
      db: services.database,
      clock: expiryClock(clock),
      log,
      pollIntervalMs: config.get('platform.shared-store.database.poll-interval'),
      sweepIntervalMs: config.get('platform.shared-store.database.sweep-interval'),
    })
    provide(sharedStore, store)
    onStop(() => store.close())
    if (serves) runUntilStop((signal) => store.keepSwept(signal))
  },
})

/** Time limit in milliseconds for the health check. It is shorter than every deadline of the readiness check. */
const checkMs = 400

/** Returns a warning instead of throwing if Redis does not respond, or not in time. */
async function outageAsWarning(clock: Clock, check: () => Promise<HealthReport>): Promise<HealthReport> {
  const late = () => new Error(`Redis does not respond within ${checkMs} ms.`)
  try {
    return await withinDeadline(clock, checkMs, check, late)
  } catch (error) {
    if (errorCodeOf(error) === 'PLINTH_SHARED_STORE_CLUSTER') throw error
    return { warnings: [errorReason(error)] }
  }
}

/** Loads the Redis client only if Redis is enabled. */
async function redisConnections(config: SharedStoreConfig, password: string, log: Logger) {
  const { readRedisSettings, RedisClients } = await import('./redis-clients.ts')
  const { RedisConnection } = await import('./redis-connection.ts')
  const { RedisMessages } = await import('./redis-messages.ts')
  const { readRedisTime } = await import('./redis-probe.ts')
  const clients = new RedisClients(readRedisSettings(config, password))
  const { settings } = clients
  const connection = new RedisConnection({ clients, log })
  const server: RedisServer = {
    connect: (options: RedisClientOptions) => clients.open(options),
    evictionPolicy: () => connection.evictionPolicy(),
    commandTimeoutMs: settings.commandTimeoutMs,
    keyPrefix: config.get('platform.cache.key-prefix'),
  }
  return {
    clients,
    connection,
    messages: new RedisMessages({ clients, log }),
    server,
    verify: (changed: string) =>
      readRedisTime({ ...settings, login: { ...settings.login, password: changed } }, undefined),
  }
}
