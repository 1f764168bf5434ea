import { errorTable } from '@plinth/kernel'

/** All errors of this plugin. */
export const sharedStoreError = errorTable(
  {
    PLINTH_SHARED_STORE_UNAVAILABLE: `Redis at {{place}} does not respond: {{reason}}.
    Start Redis, or correct platform.cache.host, platform.cache.port, platform.cache.tls and the credentials. The connection is restored automatically.`,
    PLINTH_SHARED_STORE_CLUSTER: `Redis at {{place}} is a node of a Redis Cluster, which is not supported.
    Use a single Redis server, or a primary with replicas, and correct platform.cache.host and platform.cache.port.`,
    PLINTH_SHARED_STORE_REFUSED: `Redis at {{place}} rejected a command: {{reason}}.
    Correct the cause that Redis reports. Redis must be version 6.2 or later, and no other program may use keys below platform.cache.key-prefix.`,
  },
  { unavailable: ['PLINTH_SHARED_STORE_UNAVAILABLE'] },
)
