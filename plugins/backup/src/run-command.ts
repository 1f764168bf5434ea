import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type Clock, errorReason, type Kernel } from '@plinth/kernel'
import { backupError } from './errors.ts'

/** Variable with the requester of a command that the product runs: `user`, or the name of a program. */
const requesterVariable = 'PLINTH_BACKUP_REQUESTER'
/** Time in milliseconds in which a command must clean up after it was asked to end. */
const graceMs = 20_000
/** Maximum characters of the result that are read. */
const maxResult = 10_000_000

interface CommandRun {
  /** Words after `plinth backup`. */
  readonly words: readonly string[]
  /** `user` if the action of the user is in the audit already, otherwise the actor for the audit. */
  readonly requester: string
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Called with each line of progress. */
  readonly onProgress: (line: string) => void
}

/** The error with which a command ended. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Runs `plinth backup` in a process of its own, because its checks need another instance of the product, and because
 * reading all rows must not delay requests. If this process dies, the command cleans up and ends.
 *
 * @throws CommandError with the code and the message of the command
 * @throws PlinthError `PLINTH_BACKUP_PROGRAM`
 */
export async function runCommand(
  { commandLine }: Pick<Kernel, 'commandLine'>,
  { words, requester, signal, clock, onProgress }: CommandRun,
): Promise<void> {
  signal.throwIfAborted()
  const [program, ...first] = commandLine ?? []
  if (program === undefined) throw backupError('PLINTH_BACKUP_PROGRAM', { reason: 'its own command line is unknown' })
  const child = spawn(program, [...first, 'backup', ...words, '--json'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, [requesterVariable]: requester },
  })
  // The input stays open. Its end tells the command that this process has died.
  child.stdin.on('error', () => undefined)
  let result = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    result = (result + text).slice(0, maxResult)
  })
  let lastLine = ''
  createInterface({ input: child.stderr }).on('line', (line) => {
    lastLine = line
    onProgress(line)
  })
  const ended = new AbortController()
  const end = () => {
    child.kill('SIGTERM')
    void clock.sleep(graceMs, ended.signal).then(() => ended.signal.aborted || child.kill('SIGKILL'))
  }
  signal.addEventListener('abort', end, { once: true })
  try {
    const [code]: (number | null)[] = await once(child, 'close')
    signal.throwIfAborted()
    if (code === 0) return
    throw errorOf(result) ?? new CommandError('PLINTH_BACKUP_FAILED', lastLine || `it ended with ${code ?? 'a signal'}`)
  } catch (error) {
    if (error instanceof CommandError || signal.aborted) throw error
    throw backupError('PLINTH_BACKUP_PROGRAM', { reason: errorReason(error) }, error)
  } finally {
    signal.removeEventListener('abort', end)
    ended.abort()
  }
}

/** Returns the error in the result of a command, or undefined if the result has no error. */
function errorOf(result: string): CommandError | undefined {
  try {
    const { error }: { readonly error?: { readonly code?: unknown; readonly message?: unknown } } = JSON.parse(result)
    return error === undefined ? undefined : new CommandError(String(error.code), String(error.message))
  } catch {
    return undefined
  }
}

/** Returns the requester if the product runs this command, otherwise undefined. */
export const requestedBy = (): string | undefined => process.env[requesterVariable]

/** Ends this command in order when the process of the product that runs it dies. */
export function endWithParent(): void {
  if (requestedBy() === undefined) return
  // Nobody reads the output any more. Without listeners, the next line of progress would end the process at once.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  process.stdin.once('close', () => process.kill(process.pid, 'SIGTERM')).resume()
  // The command may end before its input does.
  Object(process.stdin).unref?.()
}
