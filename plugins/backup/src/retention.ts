/** Numbers of periods whose last backup is kept. */
export interface Retention {
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
}

interface DatedBackup {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

const dayMs = 86_400_000
/** 1970-01-05 was a Monday. Weeks begin on Monday, as in ISO 8601. */
const firstMonday = 4

/** Names the period of a time in UTC. */
const periods: Readonly<Record<keyof Retention, (time: number) => string | number>> = {
  daily: (time) => Math.floor(time / dayMs),
  weekly: (time) => Math.floor((Math.floor(time / dayMs) - firstMonday) / 7),
  monthly: (time) => new Date(time).toISOString().slice(0, 7),
}

/**
 * Returns the backups that the retention does not keep. The last backup of each of the newest periods that have a
 * backup is kept. The current time has no influence: if the clock jumps, or if no backups are made for a year, nothing
 * expires. The newest backup is always kept, and also the one that was just made, whatever the clock says.
 *
 * @param backups proven backups only
 * @param justMade id of the backup that was just made
 */
export function expiredBackups<B extends DatedBackup>(
  backups: readonly B[],
  retention: Retention,
  justMade?: string,
): readonly B[] {
  const newestFirst = backups.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
  const kept = new Set<B | undefined>([newestFirst[0], newestFirst.find(({ id }) => id === justMade)])
  for (const name of ['daily', 'weekly', 'monthly'] as const) {
    const lastOfPeriod = new Map<string | number, B>()
    for (const backup of newestFirst) {
      const period = periods[name](backup.createdAt)
      if (!lastOfPeriod.has(period)) lastOfPeriod.set(period, backup)
    }
    for (const backup of [...lastOfPeriod.values()].slice(0, retention[name])) kept.add(backup)
  }
  return newestFirst.filter((backup) => !kept.has(backup))
}
