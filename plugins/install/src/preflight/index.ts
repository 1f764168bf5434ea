import { withinDeadline } from '@plinth/kernel'
import type { PreflightItem, TextParams, TextRef } from './catalogue.ts'
import type { CheckContext, PreflightContext } from './context.ts'
import { fileChecks, runtimeChecks } from './host-checks.ts'
import { realProbes } from './probes.ts'
import { cacheChecks, databaseChecks, policyChecks, storageChecks } from './service-checks.ts'

export type { CheckCode, CheckGroup, CheckStatus, PreflightItem, TextRef } from './catalogue.ts'
export type { Directories, PreflightContext, Probes, RuntimeInfo, StorageCheckFunctions } from './context.ts'

/** Maximum duration of one probe in milliseconds. */
const probeDeadlineMs = 10_000

const groups = [runtimeChecks, fileChecks, databaseChecks, cacheChecks, storageChecks, policyChecks]

/**
 * Checks the requirements of an installation (document 3 of the specification, "Behaviour by endpoint", point 1). Runs
 * no migration, writes no configuration and creates no user. A failed or timed-out probe is a result and not an
 * exception.
 *
 * @throws the reason of `context.signal` if it aborts
 */
export async function runPreflight(context: PreflightContext): Promise<readonly PreflightItem[]> {
  const { clock, signal } = context
  const late = () => Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })
  const checked: CheckContext = {
    ...context,
    probes: { ...realProbes, ...context.probes },
    within: (work) => withinDeadline(clock, probeDeadlineMs, work, late, signal),
  }
  const found = await Promise.all(groups.map((check) => check(checked)))
  signal?.throwIfAborted()
  return found.flat()
}

/** Returns true if no check failed. Warnings are allowed (decision D.34). */
export function hasPassed(items: readonly Pick<PreflightItem, 'status'>[]): boolean {
  return items.every(({ status }) => status !== 'failed')
}

export function localizeItem(
  { code, group, status, message, fix }: PreflightItem,
  translate: (key: string, params: TextParams) => string,
) {
  const text = (ref: TextRef) => translate(ref.key, ref.params)
  return { code, group, status, message: text(message), fix: fix === undefined ? '' : text(fix) }
}
