import { appendFileSync } from 'node:fs'
import { type ErrorCodeOf, errorReason, isPlinthError } from '@plinth/kernel'
import { type KernelErrorCode, StartRejectedError, StopFailedError } from '@plinth/kernel/host'
import { kernelError } from '@plinth/kernel/program'
import type { verifyError } from './errors.ts'

/** One problem of a plugin. The verification fails if there is an error. Warnings are only reported. */
export interface VerifyProblem {
  readonly level: 'error' | 'warning'
  /** Stable code of the problem. The verification, the planner or the product defines it. */
  readonly code: string
  readonly message: string
  readonly fix: string
}

/** One part of the verification, for example one product on one database. */
export interface VerifyCheck {
  readonly name: string
  /** Reason why the check was skipped. */
  readonly skipped?: string
  /** Measured times and counts as text. */
  readonly detail: string
  readonly durationMs: number
  readonly problems: readonly VerifyProblem[]
}

/** Sorted entries by kind, such as `routes` and `tables`. */
export type EntriesByKind = Readonly<Record<string, readonly string[]>>

export interface VerifyReport {
  readonly folder: string
  /** Name of the package. */
  readonly name: string
  readonly version: string
  /** True if there are no errors. */
  readonly passed: boolean
  readonly checks: readonly VerifyCheck[]
  /**
   * The services, keys, routes and other names that the plugin uses and adds, as in `plinth.lock.json`. Absent if the
   * plugin never started.
   */
  readonly manifest?: EntriesByKind
}

/** Codes of problems that are not necessarily mistakes. */
const warnings: ReadonlySet<string> = new Set<KernelErrorCode | ErrorCodeOf<typeof verifyError>>([
  'PLINTH_PLAN_TEXT_IN_ONE_LANGUAGE',
  'PLINTH_VERIFY_KIT_MISSING',
  'PLINTH_VERIFY_TASK_FAILED',
])

/** Returns a problem with the level that belongs to its code. */
export function withLevel({ code, message, fix }: Omit<VerifyProblem, 'level'>): VerifyProblem {
  return { level: warnings.has(code) ? 'warning' : 'error', code, message, fix }
}

/** Returns the problems in an error of a start or a stop: those of its causes, otherwise the error itself. */
export function problemsOf(error: unknown): readonly VerifyProblem[] {
  if (error instanceof StartRejectedError) return error.problems.map(withLevel)
  if (error instanceof StopFailedError) return error.errors.flatMap(problemsOf)
  const cause = error instanceof Error && isPlinthError(error.cause) ? error.cause : error
  if (isPlinthError(cause)) return [withLevel(cause)]
  return [withLevel(kernelError('PLINTH_UNEXPECTED', { reason: errorReason(error) }))]
}

/** Input of the process that verifies a plugin in one product with one database. */
export interface VerifyJob {
  /** Directory of the product. It contains `plugins.js`. */
  readonly product: string
  /** Source folder of the plugin, with its tests. */
  readonly folder: string
  /** Directory in which the plugin is installed. */
  readonly plugin: string
  /** `empty`: only the plugins that the verified plugin requires. `filled`: a complete product with users. */
  readonly size: 'empty' | 'filled'
  /**
   * The part of an upgrade that this process runs. `before`: the previous version stores rows. `upgrade`: the new
   * version reads them. `downgrade`: the previous version runs again. Absent for an ordinary trial.
   */
  readonly upgrade?: {
    readonly phase: 'before' | 'upgrade' | 'downgrade'
    readonly version: string
    readonly state: string
  }
  /** Environment variables that configure the database. */
  readonly environment: Readonly<Record<string, string>>
  /** Configuration values that the author specified, by key. */
  readonly set: Readonly<Record<string, string>>
  /** File to which the process writes its report. */
  readonly report: string
  /** Hosts of the database, to which connections are allowed. */
  readonly allowedHosts: readonly string[]
}

/** A line of the report. Each line is written immediately, so that no line is lost if the process is killed. */
export type ReportLine =
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'problem'; readonly problem: VerifyProblem }
  /** A secret that the output of the process must not contain. */
  | { readonly kind: 'secret'; readonly key: string; readonly value: string }
  /** The services, keys, routes and other names that the plugin uses and adds, as in `plinth.lock.json`. */
  | { readonly kind: 'manifest'; readonly entries: EntriesByKind }
  | { readonly kind: 'done'; readonly detail: string }

export type Report = (line: ReportLine) => void

export const createFileReporter =
  (file: string): Report =>
  (line) =>
    appendFileSync(file, `${JSON.stringify(line)}\n`)
