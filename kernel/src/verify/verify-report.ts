import { appendFileSync } from 'node:fs'
import { type ErrorCodeOf, isPlinthError, reasonOf } from '../errors/coded-error.ts'
import { type KernelErrorCode, kernelError, StartRejectedError, StopFailedError } from '../errors/kernel-errors.ts'
import type { verifyError } from './errors.ts'

/** One problem of a plugin. Errors fail the verification, warnings do not. */
export interface VerifyProblem {
  readonly level: 'error' | 'warning'
  /** Stable code: of the verification, of the planner, or of the error that a product reported. */
  readonly code: string
  readonly message: string
  readonly fix: string
}

/** One part of the verification, such as the package or one product on one database. */
export interface VerifyCheck {
  readonly name: string
  /** Reason why the check did not run. */
  readonly skipped?: string
  /** Measured times and counts, as text for the report. */
  readonly detail: string
  readonly durationMs: number
  readonly problems: readonly VerifyProblem[]
}

/** Sorted entries by kind, such as `routes` and `tables`. */
export type Entries = Readonly<Record<string, readonly string[]>>

export interface VerifyReport {
  readonly folder: string
  /** Name and version of the package. */
  readonly name: string
  readonly version: string
  /** True without an error. */
  readonly passed: boolean
  readonly checks: readonly VerifyCheck[]
  /** Everything that the plugin uses and adds, as in `plinth.lock.json`; absent if it never started. */
  readonly manifest?: Entries
}

/** Problems that an honest plugin may have. */
const warnings: ReadonlySet<string> = new Set<KernelErrorCode | ErrorCodeOf<typeof verifyError>>([
  'PLINTH_PLAN_TEXT_IN_ONE_LANGUAGE',
  'PLINTH_VERIFY_KIT_MISSING',
  'PLINTH_VERIFY_TASK_FAILED',
])

/** Returns a problem with the level of its code. */
export function leveled({ code, message, fix }: Omit<VerifyProblem, 'level'>): VerifyProblem {
  return { level: warnings.has(code) ? 'warning' : 'error', code, message, fix }
}

/** Returns the problems behind an error of a start or a stop: those of its causes, or the error itself. */
export function problemsOf(error: unknown): readonly VerifyProblem[] {
  if (error instanceof StartRejectedError) return error.problems.map(leveled)
  if (error instanceof StopFailedError) return error.errors.flatMap(problemsOf)
  const cause = error instanceof Error && isPlinthError(error.cause) ? error.cause : error
  if (isPlinthError(cause)) return [leveled(cause)]
  return [leveled(kernelError('PLINTH_UNEXPECTED', { reason: reasonOf(error) }))]
}

/** Input of the process that verifies a plugin: one product on one database. */
export interface VerifyJob {
  /** Directory of the product, which contains `plugins.js`. */
  readonly product: string
  /** Folder of the plugin, with its tests. */
  readonly folder: string
  /** Directory of the installed plugin. */
  readonly plugin: string
  /** `empty`: only the plugins that it requires. `filled`: a complete product with users. */
  readonly size: 'empty' | 'filled'
  /** Variables of the product: its database. */
  readonly environment: Readonly<Record<string, string>>
  /** Values of keys by the author. */
  readonly set: Readonly<Record<string, string>>
  /** File of the report. */
  readonly report: string
  /** Hosts of the database. */
  readonly allowedHosts: readonly string[]
}

/** A line of the report. It is written at once, so that the lines of a process that dies are complete. */
export type ReportLine =
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'problem'; readonly problem: VerifyProblem }
  /** A secret of the plugin, to look for in the output of the process. */
  | { readonly kind: 'secret'; readonly key: string; readonly value: string }
  /** Everything that the plugin uses and adds, as in `plinth.lock.json`. */
  | { readonly kind: 'manifest'; readonly entries: Entries }
  | { readonly kind: 'done'; readonly detail: string }

export type Report = (line: ReportLine) => void

export const reportTo =
  (file: string): Report =>
  (line) =>
    appendFileSync(file, `${JSON.stringify(line)}\n`)
