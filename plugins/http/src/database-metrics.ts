import { service } from '@plinth/kernel'
import { Gauge, type Registry } from 'prom-client'

/** What the database says about itself. By its id, because http does not depend on the database. */
export interface DatabaseWaits {
  /** Seconds since the oldest wait that is open began. */
  readonly longestWaitSeconds: number
}

export const databaseWaits = service<DatabaseWaits>('database', { from: '@plinth/database' })

/** Reads how long the database keeps this process waiting when the registry is read. */
export function measureDatabase(registry: Registry, waits: DatabaseWaits): void {
  new Gauge({
    name: 'plinth_database_longest_wait_seconds',
    help: 'Age of the oldest statement, or turn for a database connection, that is waited for',
    registers: [registry],
    collect() {
      this.set(waits.longestWaitSeconds)
    },
  })
}
