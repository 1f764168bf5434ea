import type { BoundInstallTask, LocalizedText } from '@plinth/kernel'
import { localize } from '@plinth/kernel'
import type { RecordView, StepView } from './contract.ts'
import type { Say } from './texts.ts'

/** Codes of the built-in steps (decision B57). The tasks of the plugins run between the migration and the administrator. */
export const builtIn = {
  entry: 'security-entry',
  preflight: 'environment-preflight',
  validation: 'config-validation',
  write: 'config-write',
  migration: 'database-migration',
  baseIdentity: 'base-identity',
  administrator: 'administrator',
  lock: 'install-lock',
} as const

/** Codes of records that belong to no step. */
export const remarks = { retryRequested: 'retry-requested' } as const

interface PlannedStep {
  readonly code: string
  /** Name of a task; built-in steps have theirs in the messages. */
  readonly displayName?: LocalizedText
  readonly required: boolean
  readonly retryable: boolean
}

const beforeTasks = [builtIn.entry, builtIn.preflight, builtIn.validation, builtIn.write, builtIn.migration]
const afterTasks = [builtIn.administrator, builtIn.lock]

/** All steps in the order in which they run. */
export function stepPlan(tasks: readonly BoundInstallTask[]): readonly PlannedStep[] {
  const own = (code: string): PlannedStep => ({ code, required: true, retryable: true })
  return [...beforeTasks.map(own), ...tasks, ...afterTasks.map(own)]
}

/**
 * The plan for people.
 *
 * @param records newest last; the newest of a step tells how it went
 * @param facts what is known to be so, whatever the records say
 */
export function stepViews(
  plan: readonly PlannedStep[],
  records: readonly RecordView[],
  facts: Readonly<Record<string, boolean>>,
  locale: string,
  say: Say,
): StepView[] {
  const newest = new Map(records.map((record) => [record.stepCode, record]))
  return plan.map(({ code, displayName, required, retryable }, index) => {
    const record = newest.get(code)
    const isPassed = facts[code] ?? (record !== undefined && record.status !== 'failed')
    const own = say(locale, `step.${code}.name`)
    return {
      sequence: index + 1,
      code,
      name: displayName === undefined ? own : localize(displayName, locale),
      description: say(locale, `step.${code}.description`),
      status: isPassed ? 'passed' : 'pending',
      message: record?.message ?? '',
      required,
      retryable,
    }
  })
}
