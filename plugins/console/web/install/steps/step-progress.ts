import type { Phase } from '../installation.ts'
import { type ExecutionRecord, type Outcome, outcomeOf, type Step } from '../wire.ts'

export interface StepProgress {
  readonly code: string
  readonly name: string
  readonly description: string
  readonly state: 'waiting' | 'running' | Outcome
  readonly messages: readonly string[]
  /** Duration of the step in milliseconds; `undefined` if it is unknown. */
  readonly durationMs: number | undefined
}

/** Returns the progress of each planned step, according to the records of the session. */
export function progressOf(
  steps: readonly Step[],
  records: readonly ExecutionRecord[],
  phase: Phase,
): readonly StepProgress[] {
  const lastRecorded = steps.findLastIndex(({ code }) => records.some((record) => record.stepCode === code))
  const runningIndex = phase === 'running' ? lastRecorded + 1 : -1
  return steps.map(({ code, name, description }, index) => {
    const own = records.filter(({ stepCode }) => stepCode === code)
    const state = worstOf(own) ?? (index === runningIndex ? 'running' : 'waiting')
    const messages = own.map(({ message }) => message).filter((message) => message !== '')
    return { code, name, description, state, messages, durationMs: durationOf(records, own) }
  })
}

/** Returns the most severe outcome among the records of a step. */
function worstOf(records: readonly ExecutionRecord[]): Outcome | undefined {
  const severity: readonly Outcome[] = ['failed', 'warning', 'passed']
  return severity.find((status) => records.some((record) => outcomeOf(record.status) === status))
}

/** Minimum duration in milliseconds that is displayed. */
const minMs = 50

/**
 * Returns the time between the record before the step and the last record of the step. Records are written at the end
 * of their work, so this is the duration of the step.
 */
function durationOf(all: readonly ExecutionRecord[], own: readonly ExecutionRecord[]): number | undefined {
  const first = own[0]
  const last = own.at(-1)
  const before = first && all[all.indexOf(first) - 1]
  if (before === undefined || last === undefined) return undefined
  const durationMs = Date.parse(last.occurredAt) - Date.parse(before.occurredAt)
  return durationMs >= minMs ? durationMs : undefined
}
