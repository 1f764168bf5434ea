import { TableNotFoundException } from '@mikro-orm/core'
import { BusinessError, type Logger } from '@plinth/kernel'
import type { KeyFault } from './contract.ts'

export interface Conflict {
  readonly key: string
  readonly expectedVersion: number
  readonly currentVersion: number
  readonly updatedBy: string | null
}

export const conflict = (conflicts: readonly Conflict[]) =>
  new BusinessError('409', 'Another operator has changed the same keys meanwhile. Nothing was saved.', {
    reason: 'system-config.conflict',
    data: { conflicts },
  })

export const invalid = (errors: readonly KeyFault[]) =>
  new BusinessError('400', 'Some values cannot be saved. Nothing was saved.', {
    reason: 'system-config.invalid',
    data: { errors },
  })

export const keyUnknown = (key: string) =>
  new BusinessError('404', `There is no configuration key "${key}".`, {
    reason: 'system-config.key-unknown',
    params: { key },
  })

export const masterKeyUnusable = (problem: string) =>
  new BusinessError('503', `Secrets cannot be encrypted: ${problem}`, {
    reason: 'system-config.master-key',
    params: { problem },
  })

export const versionUnknown = (version: number) =>
  new BusinessError('400', `There is no version ${version} to go back to.`, {
    reason: 'system-config.version-unknown',
    params: { version },
  })

export const versionChanged = (expected: number, current: number) =>
  new BusinessError('409', `The configuration has changed since version ${expected}. Nothing was saved.`, {
    reason: 'system-config.version-changed',
    params: { expected, current },
    data: { version: current },
  })

export const filterUnknown = (filter: string, known: string) =>
  new BusinessError('400', `There is no filter "${filter}". Filters are ${known}.`, {
    reason: 'system-config.filter-unknown',
    params: { filter, known },
  })

/** What a failing database looks like to the caller. Business failures of the work pass. */
export async function reachingStorage<T>(log: Logger, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BusinessError) throw error
    // A database that is not migrated yet was reported at the start.
    if (!(error instanceof TableNotFoundException)) log.error({ err: error }, 'stored configuration cannot be reached')
    const text = 'The stored configuration cannot be reached: the database does not answer. Nothing was saved.'
    throw new BusinessError('503', text, { reason: 'system-config.storage-unavailable', cause: error })
  }
}
