import { appendFileSync } from 'node:fs'
import type { Entries, VerifyProblem } from './verify-report.ts'

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
