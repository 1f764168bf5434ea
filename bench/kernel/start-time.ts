import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { environment } from './child-process.ts'
import { javascriptFile, javascriptProgram, root, sourceProgram } from './javascript-copy.ts'
import { ratioText, type Section } from './report.ts'
import { median, ratio, rotated } from './statistics.ts'

interface Start {
  readonly milliseconds: number
  /** The line of output that reported readiness. */
  readonly line: string
}

/** Time limit in milliseconds. A start that takes longer has failed. */
const deadlineMilliseconds = 30_000

/**
 * Starts Node.js, waits for the line that reports readiness, then ends the process.
 * @param look called with that line before the process is ended
 * @throws Error with the output if the process ends before that line
 */
export async function timeStart(
  command: readonly string[],
  isReady: (line: string) => boolean,
  look: (line: string) => Promise<void> = async () => {},
): Promise<Start> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...command], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  const deadline = setTimeout(() => child.kill('SIGKILL'), deadlineMilliseconds)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  try {
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      if (isReady(line)) {
        const milliseconds = performance.now() - startedAt
        await look(line)
        return { milliseconds, line }
      }
      lines.push(line)
    }
    throw new Error(`ended before it was ready: ${[...lines, errors].join('\n').trim().slice(0, 500)}`)
  } finally {
    clearTimeout(deadline)
    await stopProcess(child)
  }
}

/** Ends a process with a signal that allows a product to close its database. */
async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const deadline = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exit
  clearTimeout(deadline)
}

const base = 'bare Fastify, listening'
const kernel = 'kernel without plugins'
const listening = 'kernel with http and i18n, listening'
const bare = 'Node.js alone'
const source = 'plinth start without plugins, TypeScript source'

const isReady = (line: string) => line.startsWith('ready')
const isStarted = (line: string) => line.includes('"msg":"started"')

/** Returns the command line of `plinth start` for a product without plugins. */
const plinthStart = (program: string, product: string, ...words: readonly string[]) => [
  program,
  'start',
  ...words,
  '--product',
  product,
  '--set',
  'platform.log.format=json',
]

/**
 * Measures the start of the kernel: without plugins compared with a process that does nothing, and with HTTP compared
 * with bare Fastify.
 */
export async function measureKernelStart(rounds: number): Promise<Section> {
  const [bin, product] = ['kernel/bin/plinth.js', 'bench/kernel/starts/empty.config.ts']
  const programs: Readonly<Record<string, readonly string[]>> = {
    [base]: [javascriptProgram('starts/fastify')],
    [kernel]: [javascriptProgram('starts/kernel')],
    [listening]: [javascriptProgram('starts/http')],
    'plinth start without plugins': plinthStart(javascriptFile(bin), javascriptFile(product), '--no-supervisor'),
    'the same under its supervisor': plinthStart(javascriptFile(bin), javascriptFile(product)),
    [source]: plinthStart(join(root, bin), join(root, product), '--no-supervisor'),
    'kernel without plugins, types stripped anew': [sourceProgram('starts/kernel')],
    [bare]: [javascriptProgram('starts/node')],
  }
  const names = Object.keys(programs)
  const starts: Record<string, Start[]> = Object.fromEntries(names.map((name) => [name, []]))
  const start = (name: string) => {
    const command = programs[name] ?? []
    return timeStart(command, command.includes('start') ? isStarted : isReady)
  }
  // The first start of each candidate fills its compile cache and is not measured.
  for (const name of names) await start(name)
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(names, round)) starts[name]?.push(await start(name))
  }
  const times = (name: string) => (starts[name] ?? []).map(({ milliseconds }) => milliseconds)
  const inProcess = (starts[kernel] ?? []).map(({ line }) => Number(line.split(' ')[1]))
  const bar = (name: string, peer: string, atMost: number) => ({
    name: `start of ${name} / ${peer}`,
    measured: ratio(times(name), times(peer)),
    bar: { atMost },
    unit: 'ratio' as const,
  })
  return {
    title: 'Start of the kernel without plugins',
    tables: [
      [
        ['spawn to ready', 'x Node.js alone', 'x bare Fastify', 'ms'],
        ...names.map((name) => [
          name,
          ratioText(ratio(times(name), times(bare))),
          ratioText(ratio(times(name), times(base))),
          median(times(name)).toFixed(0),
        ]),
      ],
    ],
    notes: [
      `${rounds} interleaved rounds; \`startProduct\` itself, inside a process that has loaded the kernel: ` +
        `${median(inProcess).toFixed(1)} ms`,
      'the rows of `plinth start` include its command line and its compile cache; the others have no compile cache',
    ],
    bars: [bar(kernel, bare, 4), bar(listening, base, 2)],
  }
}
