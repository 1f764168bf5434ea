import { endProcess, exitCodes } from './process-end.ts'

/** Options with a value that may be before or after any command. */
const withValue: ReadonlySet<string> = new Set(['--product', '--set', '--settings-file'])

/** Returns whether a command line is `plinth start`, the only command that serves until it is stopped. */
export function serves(words: readonly string[]): boolean {
  const command = words.find((word, index) => !word.startsWith('-') && !withValue.has(words[index - 1] ?? ''))
  return command === 'start'
}

/** Returns whether a command line reads a value from standard input (`--set key=-`). */
export const readsInput = (words: readonly string[]): boolean =>
  words.some((word, index) => (words[index - 1] === '--set' && /^[^=]+=-$/.test(word)) || /^--set=[^=]+=-$/.test(word))

/** Environment variable that marks a process whose supervisor restarts it on request. */
const mark = 'PLINTH_SUPERVISED'

/** Message of the supervisor to the process of the product. */
export interface StopMessage {
  readonly stop: NodeJS.Signals
}

/** Message of the process of the product to the supervisor. */
export interface ReadyMessage {
  readonly ready: true
}

/** The supervisor as the process of the product uses it. */
export interface SupervisorLink {
  /**
   * Aborts when the process must stop: the supervisor passed a signal on or has ended, or the process alone received a
   * signal.
   */
  readonly signal: AbortSignal
  /** Reports that the product has started: from now on it is restarted after a crash. */
  ready(): void
}

export const markedEnvironment = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...environment,
  [mark]: '1',
})

/** Returns the supervisor of this process. Removes the mark, because child processes are not supervised. */
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
      // While the supervisor runs, it handles signals: a terminal and systemd send each signal to both processes.
      if (end.signal.aborted && !process.connected) endProcess(exitCodes.interrupted)
      stop(`${name} received`)
    })
  }
  const isReady: ReadyMessage = { ready: true }
  // The supervisor may end at this moment; the channel reports that separately.
  const ready = () => void (process.connected && process.send?.(isReady, () => {}))
  return { signal: end.signal, ready }
}
