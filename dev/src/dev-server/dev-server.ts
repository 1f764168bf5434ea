import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseEnv } from 'node:util'
import {
  closeInspectorForChild,
  exitCodes,
  type FailedStartReport,
  type FailureMessage,
  findOptionValue,
  findSetValue,
  type ModuleMessage,
  type PackageMessage,
  productWordsOf,
  type ReadyMessage,
  resolveProductFile,
  type StartPermitMessage,
  type StopMessage,
  withSupervisorMode,
} from '@plinth/kernel/supervisor'
import { serveProblemPage } from './problem-page.ts'
import { SourceWatch } from './source-watch.ts'
import { StandbyProcess } from './standby.ts'

/** Milliseconds in which the previous process must stop before it is killed. */
const stopLimitMs = 2000
const defaultPort = 3000

const packageFiles = /^(?:package(?:-lock)?\.json|pnpm-lock\.yaml)$/

/** Maximum number of changed files that the terminal shows. */
const maxShownFiles = 3

const say = (text: string) => void process.stderr.write(`${text}\n`)

interface Run {
  readonly child: ChildProcess
  /** Resolves with the exit code when the process has ended. */
  readonly ended: Promise<number>
  readonly state: { hasEnded: boolean; failure?: FailedStartReport }
}

/**
 * Runs the product in a child process and starts a new one after each saved change. If the start fails, a small server
 * responds on the port of the product and shows the problem. SIGTERM and SIGINT stop all processes; a second signal
 * kills them.
 *
 * @returns the exit code
 */
export async function runDev(words: readonly string[]): Promise<number> {
  const isInspected = await closeInspectorForChild()
  const directory = process.cwd()
  const file = resolveProductFile(words, directory)
  const sources = new SourceWatch()
  sources.add(dirname(file))
  const settingsFile = resolve(directory, findOptionValue(words, '--settings-file') ?? resolve(dirname(file), '.env'))
  sources.addFile(settingsFile, dirname(settingsFile))
  const standby = new StandbyProcess(words)
  const host = findOptionValue(words, '--host') ?? '127.0.0.1'
  let port: number | undefined
  let run: Run | undefined
  const stop = new AbortController()
  const stopped = once(stop.signal, 'abort')
  const onSignal = () => {
    if (stop.signal.aborted) run?.child.kill('SIGKILL')
    stop.abort()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const onChange = (files: readonly string[]) => {
    if (files.some((changed) => packageFiles.test(basename(changed)))) standby.discard()
    announce(files, directory)
  }
  try {
    for (let count = 0; ; count++) {
      const startedAt = performance.now()
      const previous = run
      // With the inspector, the previous process must end first, because both would use the same address.
      if (previous !== undefined && isInspected) await stopProcess(previous)
      const child = count === 0 ? firstProcess(words) : standby.begin()
      // With the inspector, no process is prepared, because it would use the same address as the running one.
      const prepare = () => isInspected || stop.signal.aborted || standby.prepare()
      const current = start(child, sources, standby, (url) => {
        if (url !== undefined) port = Number(new URL(url).port)
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
        if (count > 0) say(`Restarted in ${seconds} s. ${url ?? ''}`.trimEnd())
        prepare()
      })
      run = current
      // The new process has loaded its modules while the previous one was stopping. It may only start after the
      // previous one has ended.
      if (previous !== undefined) await stopProcess(previous)
      if (current.child.connected) current.child.send({ permit: true } satisfies StartPermitMessage, () => {})
      const changed = sources.next()
      await Promise.race([current.ended, changed, stopped])
      if (stop.signal.aborted) return exitCodes.ok
      if (!current.state.hasEnded) {
        onChange(await changed)
        continue
      }
      const code = await current.ended
      if (code === exitCodes.restart) continue
      if (code === exitCodes.usage || current.state.failure?.code === 'PLINTH_PRODUCT_NOT_FOUND') return code
      prepare()
      say('The product does not run. It is started again after the next change.')
      const failure = current.state.failure ?? {
        code: 'PLINTH_PROCESS_ENDED',
        text: `The process of the product ended with ${code}. The terminal shows the reason.`,
      }
      const problem = await serveProblemPage(failure, host, port ?? portOf(words, settingsFile))
      const answered = new AbortController()
      const mended = mendIfAccepted(failure, words, answered.signal)
      const isMended = await Promise.race([mended, changed.then(() => false), stopped.then(() => false)])
      answered.abort()
      await problem.close()
      if (stop.signal.aborted) return exitCodes.ok
      if (isMended) continue
      onChange(await changed)
    }
  } finally {
    sources.close()
    standby.discard()
    if (run !== undefined) await stopProcess(run)
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

const firstProcess = (words: readonly string[]) =>
  fork(process.argv[1] ?? '', words, { env: withSupervisorMode(process.env, 'dev') })

function start(
  child: ChildProcess,
  sources: SourceWatch,
  standby: StandbyProcess,
  onReady: (url: string | undefined) => void,
): Run {
  const state: Run['state'] = { hasEnded: false }
  child.on('message', (message: ReadyMessage | PackageMessage | ModuleMessage | FailureMessage) => {
    if ('package' in message) sources.add(message.package)
    else if ('module' in message) standby.add(message.module)
    else if ('failure' in message) state.failure = message.failure
    else onReady(message.url)
  })
  // The last messages may arrive after the end of the process, but before its channel closes.
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code]]): number => {
    state.hasEnded = true
    return code ?? exitCodes.failed
  })
  return { child, ended, state }
}

/**
 * Asks the developer whether to run the command that removes the cause of a failed start, and runs it.
 *
 * @returns true after the command has succeeded. Otherwise never resolves, because only a change of the sources helps.
 */
async function mendIfAccepted({ remedy }: FailedStartReport, words: readonly string[], signal: AbortSignal) {
  if (remedy !== undefined && process.stdin.isTTY && process.stderr.isTTY) {
    const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
    const answer = await lines.question(`${remedy.question} [y/N] `, { signal }).catch(() => '')
    lines.close()
    if (/^y(es)?$/i.test(answer.trim())) {
      const child = fork(process.argv[1] ?? '', [...productWordsOf(words), ...remedy.words])
      const [code] = await once(child, 'exit')
      if (code === exitCodes.ok) return true
    }
  }
  return new Promise<never>(() => {})
}

/** Stops a process, and kills it if the stop takes too long. */
async function stopProcess({ child, ended, state }: Run): Promise<void> {
  if (!state.hasEnded) child.send({ stop: 'SIGTERM' } satisfies StopMessage, () => {})
  const kill = setTimeout(() => child.kill('SIGKILL'), stopLimitMs)
  await ended
  clearTimeout(kill)
}

function announce(files: readonly string[], directory: string): void {
  const names = files.slice(0, maxShownFiles).map((file) => {
    const path = relative(directory, file)
    return path.startsWith('..') ? basename(file) : path
  })
  const rest = files.length > maxShownFiles ? ` and ${files.length - maxShownFiles} more` : ''
  say(`Changed: ${names.join(', ')}${rest}. Starting again.`)
}

/**
 * Returns the port of a product that failed to start. It is read from the command line, the environment and the `.env`
 * file, because the modules of the product may not load.
 */
function portOf(words: readonly string[], settingsFile: string): number {
  const name = 'PLATFORM_HTTP_PORT'
  const text = findSetValue(words, 'platform.http.port') ?? process.env[name] ?? settingsIn(settingsFile)[name]
  const port = Number(text ?? defaultPort)
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : defaultPort
}

function settingsIn(file: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}
