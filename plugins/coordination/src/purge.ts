import { type Database, expiryClock, type OldRows, type Parameter, purgeOldRows } from '@plinth/database'
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

/** The keys of one purge. */
export type PurgeKeys<P extends string> = { readonly [K in `${P}.purge.fixed-delay`]: KeyDeclaration<number> } & {
  readonly [K in `${P}.purge.auto-startup`]: KeyDeclaration<boolean>
}

/** @param description what goes, and after which time */
export function purgeKeys<const P extends string>(prefix: P, description: LocalizedText): PurgeKeys<P> {
  return {
    [`${prefix}.purge.fixed-delay`]: key.duration({
      title: { en: 'Delay between clean-ups', 'zh-CN': '清理间隔' },
      description,
      default: '1h',
      minimum: '1m',
    }),
    [`${prefix}.purge.auto-startup`]: key.boolean({
      title: { en: 'Clean up by itself', 'zh-CN': '自动清理' },
      default: true,
    }),
  } as unknown as PurgeKeys<P>
}

/** How long the rows stay that a purge removes. */
export const retentionKey = (title: LocalizedText): KeyDeclaration<number> =>
  key.duration({
    title,
    description: {
      en: 'Older rows are removed. 0 keeps them for ever.',
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

export interface PurgeParts<D extends Uses> {
  readonly displayName: LocalizedText
  /** Returns the rows whose time has passed. Not called in a product without a database. */
  readonly old: (context: ScheduledTaskContext<D>) => readonly OldRows[]
  /** What else is to be done, after that. */
  readonly also?: (context: ScheduledTaskContext<D>, db: Database) => Promise<unknown>
}

/**
 * The scheduled task that removes old rows, with the keys of `purgeKeys` for the same prefix: `purgeTask<Uses>('platform.iam', ...)` is the
 * task `iam.purge`. Rows go in small steps; see `purgeOldRows`.
 */
export function purgeTask<D extends Uses>(prefix: `platform.${string}`, parts: PurgeParts<D>): ScheduledTask<D> {
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

/** Rows of a table whose moment, day or number in an indexed column lies before another. */
export const olderThan = (table: string, column: string, before: Parameter): OldRows => ({
  table,
  where: `${column} < ?`,
  parameters: [before],
  orderBy: column,
})
