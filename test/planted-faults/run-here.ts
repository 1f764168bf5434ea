import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { programEnvironment } from '@plinth/dev/testing'

/** The result of a command line. */
export interface CommandEnd {
  /** Exit code; `undefined` if the process ended during the command. */
  readonly exitCode: number | undefined
  /** Codes of all reported errors. */
  readonly errors: readonly string[]
  /** Codes of all reported warnings. */
  readonly warnings: readonly string[]
  /** True if the product served requests. */
  readonly isReady: boolean
  readonly output: string
}

interface Reported {
  readonly code?: string
  readonly cause?: string
  readonly level?: string
  readonly outcome?: string
  readonly detail?: string
  readonly isReady?: true
  readonly ended?: number
  readonly error?: Reported
  readonly problems?: readonly Reported[]
  readonly findings?: readonly Reported[]
}

/** Maximum duration in milliseconds. */
const timeout = 300_000
const runOnce = join(import.meta.dirname, 'run-once.ts')
const plinth = join(import.meta.dirname, '..', '..', 'kernel', 'bin', 'plinth.js')

function run(directory: string, words: readonly string[]) {
  // NODE_OPTIONS is empty, because `run-once.ts` imports the kernel by file paths, and the test runner would load a
  // second copy of it.
  const env = { ...programEnvironment(), NODE_OPTIONS: '' }
  const options = { cwd: directory, env, encoding: 'utf8', timeout } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, words, options)
  return { status, output: `${stdout}\n${stderr}` }
}

/**
 * Runs command lines in the directory of a product, in one process. If a command starts a product that serves requests,
 * the product is stopped as soon as it is ready.
 */
export function runCommandsIn(directory: string, ...commands: readonly string[]): CommandEnd[] {
  const { status, output } = run(directory, [runOnce, ...commands])
  const ends = output
    .split(/^.* begins$/m)
    .slice(1)
    .map(endOf)
  const last = ends.at(-1)
  // If the process ended during a command, the remaining commands run in another process.
  const isCut = last !== undefined && last.exitCode === undefined
  if (isCut) ends[ends.length - 1] = { ...last, exitCode: status ?? -1 }
  return isCut ? [...ends, ...runCommandsIn(directory, ...commands.slice(ends.length))] : ends
}

/** Runs `plinth` with a faked Node.js version. */
export function runOnNode(directory: string, nodeVersion: string, command: string): CommandEnd {
  const versions = `{ value: { ...process.versions, node: '${nodeVersion}' } }`
  const pretended = `data:text/javascript,Object.defineProperty(process, 'versions', ${versions})`
  const { status, output } = run(directory, ['--import', pretended, plinth, command, '--json'])
  return { ...endOf(output), exitCode: status ?? -1 }
}

function endOf(output: string): CommandEnd {
  const documents = documentsIn(output)
  const reports = documents.flatMap((one) => [one, ...(one.findings ?? []), ...problemsOf(one.error)])
  const codesOf = (kinds: readonly unknown[]) =>
    reports
      .filter(({ level, outcome }) => kinds.includes(level ?? outcome))
      .flatMap(({ cause, code, detail = '' }) => cause ?? code ?? /^PLINTH_\w+/.exec(detail)?.[0] ?? [])
  return {
    exitCode: documents.find(({ ended }) => ended !== undefined)?.ended,
    errors: codesOf([undefined, 'fatal', 'error', 'failed']),
    warnings: codesOf(['warn', 'warning']),
    isReady: documents.some(({ isReady }) => isReady),
    output,
  }
}

const problemsOf = (error: Reported | undefined) => (error === undefined ? [] : [error, ...(error.problems ?? [])])

/** Returns the JSON documents in a text. A document is on one line, or on several lines between single braces. */
function documentsIn(text: string): readonly Reported[] {
  const parts = [...text.matchAll(/^\{$[\s\S]*?^\}$/gm), ...text.matchAll(/^\{.+\}$/gm)]
  return parts.flatMap(([part]) => {
    try {
      return [JSON.parse(part)]
    } catch {
      return []
    }
  })
}
