import { Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { CommandOutput } from '../contracts/declarations.ts'
import { isBusinessError } from '../errors/business-error.ts'
import { causeCodeOf, errorReason, findRemedy, isPlinthError, type PlinthError } from '../errors/coded-error.ts'
import { fileAccessError, kernelError } from '../errors/kernel-errors.ts'
import { developerStack } from '../errors/stack.ts'
import type { FailedStartReport } from './supervisor-link.ts'
import { formatTable } from './table.ts'

/** A stream of the process, or an object that replaces it in tests. */
interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  /** Width of the terminal in characters. */
  readonly columns?: number | undefined
}

export interface Streams {
  readonly stdout: Sink
  readonly stderr: Sink
}

export interface Output extends CommandOutput {
  /** True if standard error is a terminal. */
  readonly isTerminal: boolean
  /**
   * Prints a problem and its fix to standard error. With `--json`, prints them as the only JSON document on standard
   * output.
   */
  failure(error: unknown): void
}

const outcomeColours: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  ok: 'green',
  warning: 'yellow',
  failed: 'red',
}

/**
 * Returns a function that colours text for a stream. Only streams of the process are coloured. The variables NO_COLOR
 * and FORCE_COLOR apply.
 */
function painter(stream: Sink) {
  return (format: Parameters<typeof styleText>[0], text: string) =>
    stream instanceof Writable ? styleText(format, text, { stream }) : text
}

/** @param onFailure called with each problem that is printed */
export function createOutput(
  { stdout, stderr }: Streams,
  json: boolean,
  onFailure: (failure: FailedStartReport) => void = () => {},
): Output {
  let isAnswered = false
  const [paint, paintError] = [painter(stdout), painter(stderr)]
  const result = (value: unknown, text: string) => {
    isAnswered = true
    stdout.write(json ? `${JSON.stringify(value, undefined, 2)}\n` : text === '' ? '' : `${text}\n`)
  }
  return {
    json,
    isTerminal: stderr.isTTY === true,
    result,
    table: (value, rows, more = '') => {
      const style = (text: string, row: number) => {
        if (row === 0) return paint('bold', text)
        const colour = outcomeColours[text]
        return colour === undefined ? text : paint(colour, text)
      }
      const text = json ? '' : formatTable(rows, stdout.isTTY === true ? stdout.columns : undefined, style)
      result(value, more === '' ? text : `${text}\n${more}`)
    },
    progress: (text) => {
      stderr.write(`${text}\n`)
    },
    failure: (error) => {
      if (json) (isAnswered ? stderr : stdout).write(`${JSON.stringify({ error: failureOf(error) })}\n`)
      else stderr.write(`${describe(error, paintError)}\n`)
      isAnswered = true
      const { code } = explained(error)
      onFailure({ code, text: describe(error, (_format, text) => text), remedy: findRemedy(error) })
    },
  }
}

function failureOf(error: unknown): object {
  const { code, message, fix } = explained(error)
  const { problems }: { readonly problems?: unknown } = Object(error)
  if (Array.isArray(problems)) return { code, message, fix, problems }
  if (isBusinessError(error)) return { code, message, fix, reason: error.reason }
  const [cause, stack] = [causeCodeOf(error), developerStack(error)]
  return { code, message, fix, ...(cause === code ? {} : { cause }), ...(stack === undefined ? {} : { stack }) }
}

function describe(error: unknown, paint: ReturnType<typeof painter>): string {
  const { code, message, fix } = explained(error)
  const stack = developerStack(error)
  return `${paint('red', code)}: ${message}\n${paint('green', 'Fix:')} ${fix}${stack === undefined ? '' : `\n${stack}`}`
}

/**
 * Returns an error with a code and a fix. A business error becomes `PLINTH_COMMAND_REFUSED`, a missing permission of the
 * file system `PLINTH_FILE_ACCESS`, every other error without a code `PLINTH_UNEXPECTED`.
 */
export function explained(error: unknown): PlinthError {
  if (isPlinthError(error)) return error
  const denied = fileAccessError(error)
  if (denied !== undefined) return denied
  return kernelError(isBusinessError(error) ? 'PLINTH_COMMAND_REFUSED' : 'PLINTH_UNEXPECTED', {
    reason: errorReason(error),
  })
}
