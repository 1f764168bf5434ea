import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { programEnvironment } from '@plinth/kernel/testing'

/** The `plinth` program. */
export const program = join(import.meta.dirname, '..', 'kernel', 'src', 'cli', 'main.ts')
export const quickstart = join(import.meta.dirname, '..', 'examples', 'quickstart', 'plinth.config.ts')

export interface ProductProcess {
  readonly child: ChildProcess
  readonly url: string
  /** Everything that it has written so far. */
  readonly output: () => string
  /** Exit code and signal. */
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>
}

/** A directory of its own for what a product stores. */
export async function dataDirectory(teardown: (remove: () => Promise<void>) => void): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'plinth-product-'))
  teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** A machine that runs many tests at once is slow, not broken. */
const patience = {
  'platform.kernel.setup-deadline': '5m',
  'platform.kernel.drain-deadline': '1m',
  'platform.kernel.stop-deadline': '1m',
  'platform.http.overload.max-wait': '1m',
  'platform.http.readiness-deadline': '1m',
}

/** Runs `plinth start` on a free port and waits until it listens: the process itself, or under a supervisor. */
export async function startProcess(
  product: string,
  settings: Readonly<Record<string, string>>,
  options: { readonly supervised?: boolean } = {},
): Promise<ProductProcess> {
  const all = { 'platform.http.port': '0', 'platform.log.format': 'json', ...patience, ...settings }
  const set = Object.entries(all).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const words = options.supervised ? set : ['--no-supervisor', ...set]
  const child = spawn(process.execPath, [program, 'start', '--product', product, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: programEnvironment(),
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  // Not `exit`, which may come before the last that it has written.
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  const url = await new Promise<string>((resolve, reject) => {
    ended.then(([code]) => reject(new Error(`ended with ${code} before it listened:\n${output}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`
      const found = /"url":"(http:[^"]+)"/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  return { child, url, output: () => output, ended }
}

/** Runs one `plinth` command to its end, feeding it the text on standard input. */
export async function runProgram(
  words: readonly string[],
  input = '',
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [program, ...words], { env: programEnvironment() })
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, stdout, stderr }
}
