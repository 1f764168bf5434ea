import { endProcess, exitCodes } from './process-end.ts'

/** Options that stand before or after any command and take a value. */
const withValue: ReadonlySet<string> = new Set(['--product', '--set', '--settings-file'])

/** Whether a command line is `plinth start`: the one command that serves until it is told to stop. */
export function serves(words: readonly string[]): boolean {
  const command = words.find((word, index) => !word.startsWith('-') && !withValue.has(words[index - 1] ?? ''))
  return command === 'start'
}

/** Whether a command line takes a value from standard input (`--set key=-`). */
export const readsInput = (words: readonly string[]): boolean =>
  words.some((word, index) => (words[index - 1] === '--set' && /^[^=]+=-$/.test(word)) || /^--set=[^=]+=-$/.test(word))

/** Tells a process that a supervisor started it and starts it again when it asks for that. */
const mark = 'PLINTH_SUPERVISED'

/** What the supervisor tells the product's process. */
export interface StopMessage {
  readonly stop: NodeJS.Signals
}

/** What the product's process tells the supervisor. */
export interface ReadyMessage {
  readonly ready: true
}

/** The supervisor, seen from the product's process. */
export interface SupervisorLink {
  /** Aborts when the process is to stop: the supervisor passed a signal on or is gone, or a signal came to it alone. */
  readonly signal: AbortSignal
  /** Says that the product has started: from now on it is started again when it crashes. */
  ready(): void
}

export const markedEnvironment = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...environment,
  [mark]: '1',
})

/** The supervisor of this process. Takes the mark away: what this process starts is not supervised. */
export function supervisorOf(process: NodeJS.Process): SupervisorLink | undefined {
  const isSupervised = process.env[mark] !== undefined
  delete process.env[mark]
  if (!isSupervised) return undefined
  const end = new AbortController()
  const stop = (reason: string) => end.abort(new Error(reason))
  const onGone = () => stop('the supervisor is gone')
  process.on('message', (message: StopMessage) => stop(`${message.stop} received`))
  process.on('disconnect', onGone)
  process.channel?.unref()
  if (!process.connected) onGone()
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      // While the supervisor lives, it counts: a terminal and systemd send each signal to both processes.
      if (end.signal.aborted && !process.connected) endProcess(exitCodes.interrupted)
      stop(`${name} received`)
    })
  }
  const isReady: ReadyMessage = { ready: true }
  // It may go away at this very moment; the channel says so by itself.
  const ready = () => void (process.connected && process.send?.(isReady, () => {}))
  return { signal: end.signal, ready }
}
