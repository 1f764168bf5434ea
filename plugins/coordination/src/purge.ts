import { type Database, type ExpiredRows, expiryClock, type Parameter, purgeOldRows } from '@plinth/database'
import {
  type KeyDeclaration,
  type KeyDeclarations,
  type KeysOf,
  key,
  type LocalizedText,
  type OptionalRef,
  type ScheduledTask,
  type ScheduledTaskContext,
  type ServiceRef,
} from '@plinth/kernel'

export type PurgeKeys<P extends string> = { readonly [K in `${P}.purge.fixed-delay`]: KeyDeclaration<number> } & {
  readonly [K in `${P}.purge.auto-startup`]: KeyDeclaration<boolean>
}

/**
 * Returns the configuration keys of a purge.
 *
 * @param description states which data is removed after which time
 */
export function purgeKeys<const P extends string>(prefix: P, description: LocalizedText): PurgeKeys<P> {
  return {
    [`${prefix}.purge.fixed-delay`]: key.duration({
      title: { en: 'Cleanup interval', 'zh-CN': '清理间隔' },
      description,
      default: '1h',
      minimum: '1m',
    }),
    [`${prefix}.purge.auto-startup`]: key.boolean({
      title: { en: 'Run cleanup automatically', 'zh-CN': '自动清理' },
      default: true,
    }),
  } as unknown as PurgeKeys<P>
}

export const retentionKey = (title: LocalizedText): KeyDeclaration<number> =>
  key.duration({
    title,
    description: {
      en: 'Older rows are removed. 0 keeps them indefinitely.',
      'zh-CN': '更早的记录会被清除；0 表示永久保留。',
    },
    default: '90d',
    minimum: '0s',
    reload: 'live',
  })

type Uses = {
  readonly requires: { readonly database: ServiceRef<Database> | OptionalRef<Database> }
  readonly config: KeyDeclarations
}

export interface PurgeTaskOptions<D extends Uses> {
  readonly displayName: LocalizedText
  /** Returns the rows to remove. Not called in a product without a database. */
  readonly old: (context: ScheduledTaskContext<D>) => readonly ExpiredRows[]
  readonly also?: (context: ScheduledTaskContext<D>, db: Database) => Promise<unknown>
}

/**
 * Returns the scheduled task that removes old rows in small batches; see `purgeOldRows`. It uses the keys of
 * `purgeKeys` with the same prefix: `createPurgeTask<Uses>('platform.iam', ...)` is the task `iam.purge`.
 */
export function createPurgeTask<D extends Uses>(
  prefix: `platform.${string}`,
  parts: PurgeTaskOptions<D>,
): ScheduledTask<D> {
  const { displayName, old, also } = parts
  const keyOf = (name: string) => `${prefix}.purge.${name}` as keyof KeysOf<D> & string
  return {
    name: `${prefix.slice('platform.'.length)}.purge`,
    displayName,
    fixedDelay: keyOf('fixed-delay'),
    autoStartup: keyOf('auto-startup'),
    irreversible: true,
    async run(processContext) {
      const { database: db } = processContext.services as { readonly database?: Database }
      if (db === undefined) return
      const context = { ...processContext, clock: expiryClock(db.clock) }
      for (const rows of old(context)) await purgeOldRows(db, rows, context)
      await also?.(context, db)
    },
  }
}

/** Returns the rows of a table whose column is less than `before`. */
export const rowsBefore = (table: string, column: string, before: Parameter): ExpiredRows => ({
  table,
  where: `${column} < ?`,
  parameters: [before],
  orderBy: column,
})
