import type { CommandOutput } from '../contracts/declarations.ts'
import { isBusinessError } from '../errors/business-error.ts'
import { causeCodeOf, isPlinthError, type PlinthError, reasonOf } from '../errors/coded-error.ts'
import { kernelError, StartRejectedError } from '../errors/kernel-errors.ts'
import { authorStack } from '../errors/stack.ts'

export interface Streams {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

export interface Output extends CommandOutput {
  /** Prints the problem and its fix: on standard error, and with `--json` as the only document on standard output. */
  failure(error: unknown): void
}

export function createOutput({ stdout, stderr }: Streams, json: boolean): Output {
  let isAnswered = false
  return {
    json,
    result: (value, text) => {
      isAnswered = true
      stdout.write(json ? `${JSON.stringify(value, undefined, 2)}\n` : text === '' ? '' : `${text}\n`)
    },
    progress: (text) => {
      stderr.write(`${text}\n`)
    },
    failure: (error) => {
      if (json) (isAnswered ? stderr : stdout).write(`${JSON.stringify({ error: failureOf(error) })}\n`)
      else stderr.write(`${describe(error)}\n`)
      isAnswered = true
    },
  }
}

function failureOf(error: unknown): object {
  const { code, message, fix } = explained(error)
  if (error instanceof StartRejectedError) return { code, message, fix, problems: error.problems }
  if (isBusinessError(error)) return { code, message, fix, reason: error.reason }
  const [cause, stack] = [causeCodeOf(error), authorStack(error)]
  return { code, message, fix, ...(cause === code ? {} : { cause }), ...(stack === undefined ? {} : { stack }) }
}

function describe(error: unknown): string {
  const { code, message, fix } = explained(error)
  const stack = authorStack(error)
  return `${code}: ${message}\nFix: ${fix}${stack === undefined ? '' : `\n${stack}`}`
}

/**
 * Returns an error with a code and a fix: a business error becomes a rejected command, other errors without both are
 * unexpected.
 */
function explained(error: unknown): PlinthError {
  if (isPlinthError(error)) return error
  return kernelError(isBusinessError(error) ? 'PLINTH_COMMAND_REFUSED' : 'PLINTH_UNEXPECTED', {
    reason: reasonOf(error),
  })
}

/** Formats rows as aligned columns; the first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}
