import { errorTable } from '@plinth/kernel'

/** All errors of this plugin. */
export const sharedStoreError = errorTable(
  {
    PLINTH_SHARED_STORE_UNAVAILABLE: `Redis at {{place}} does not answer: {{reason}}.
    Start Redis, or correct platform.cache.host, platform.cache.port, platform.cache.tls and the credentials. It is reconnected by itself.`,
    PLINTH_SHARED_STORE_CLUSTER: `Redis at {{place}} is a node of a Redis Cluster, which is not supported.
    Use a single Redis server, or a primary with replicas, and correct platform.cache.host and platform.cache.port.`,
    PLINTH_SHARED_STORE_REFUSED: `Redis at {{place}} refuses a command: {{reason}}.
    Mend what Redis complains about; it must be 6.2 or newer and hold no foreign keys under platform.cache.key-prefix.`,
  },
  { unavailable: ['PLINTH_SHARED_STORE_UNAVAILABLE'] },
)
