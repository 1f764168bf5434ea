import type { DataOf } from '@plinth/client'

/* Responses of the config centre operations. */

export type KeyList = DataOf<typeof operationIds.keys>
/** All data about one key. Secrets are masked. */
export type ConfigItem = KeyList['groups'][number]['items'][number]

/** Titles of groups, by group. */
export type GroupTitles = ReadonlyMap<string, string>

/** Result of a save or of its preview. */
export type Outcome = DataOf<typeof operationIds.save>
export type Effect = Outcome['effects'][number]
/** Changes of a key, newest first. */
export type HistoryPage = DataOf<typeof operationIds.history>
/** A rule that the value of a key violates. */
export type KeyProblem = Outcome['errors'][number]

export type Instances = DataOf<typeof operationIds.instances>
export type Instance = Instances['items'][number]

/** Ids of the operations that `src/admin/own-pages.ts` lists. */
export const operationIds = {
  keys: 'getAdminSystemConfigKeys',
  preview: 'postAdminSystemConfigChangesPreview',
  save: 'postAdminSystemConfigChanges',
  verify: 'postAdminSystemConfigVerifications',
  instances: 'getAdminSystemConfigInstances',
  exported: 'getAdminSystemConfigExport',
  imported: 'postAdminSystemConfigImport',
  history: 'getAdminSystemConfigHistory',
  rollback: 'postAdminSystemConfigRollback',
} as const

/** Id of the page that lists all changes. A product may not have it. */
export const historyPage = 'system-config.history'

/** Id of the group of stored values without a declaration. */
export const orphanedGroup = 'orphaned'
