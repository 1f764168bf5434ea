import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { environment } from './child-process.ts'
import { javascriptProgram, sourceProgram } from './javascript-copy.ts'
import { ratioText, type Section } from './report.ts'
import { median, ratio, rotated } from './statistics.ts'

export interface Start {
  readonly milliseconds: number
  /** The line that told it was ready. */
  readonly line: string
}

/**
 * Spawns Node.js and waits for the line that says it is ready, then ends it.
 *
 * @throws Error when it ends before, with what it wrote
 */
export async function timeStart(
  command: readonly string[],
  isReady = (line: string) => line.startsWith('ready'),
  deadlineMilliseconds = 30_000,
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
      if (isReady(line)) return { milliseconds: performance.now() - startedAt, line }
      lines.push(line)
    }
    throw new Error(`ended before it was ready: ${[...lines, errors].join('\n').trim().slice(0, 500)}`)
  } finally {
    clearTimeout(deadline)
    await ended(child)
  }
}

/** Ends a process politely: a product must be able to close its database. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const deadline = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exit
  clearTimeout(deadline)
}

const base = 'bare Fastify, listening'
const kernel = 'kernel without plugins'
const fromSource = 'kernel without plugins, TypeScript source'

/** The kernel without plugins against bare Fastify, from spawn to ready. */
export async function measureKernelStart(rounds: number): Promise<Section> {
  const programs: Readonly<Record<string, string>> = {
    [base]: javascriptProgram('starts/fastify'),
    [kernel]: javascriptProgram('starts/kernel'),
    [fromSource]: sourceProgram('starts/kernel'),
    'Node.js alone': javascriptProgram('starts/node'),
  }
  const names = Object.keys(programs)
  const starts: Record<string, Start[]> = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(names, round)) starts[name]?.push(await timeStart([programs[name] ?? '']))
  }
  const times = (name: string) => (starts[name] ?? []).map(({ milliseconds }) => milliseconds)
  const inProcess = (starts[kernel] ?? []).map(({ line }) => Number(line.split(' ')[1]))
  const bar = (name: string) => ({
    name: `start of the ${name} / bare Fastify`,
    measured: ratio(times(name), times(base)).median,
    bar: { atMost: 1.2 },
    unit: 'ratio' as const,
  })
  return {
    title: 'Start of the kernel without plugins',
    tables: [
      [
        ['spawn to ready', 'ratio', 'ms'],
        ...names.map((name) => [name, ratioText(ratio(times(name), times(base))), median(times(name)).toFixed(0)]),
      ],
    ],
    notes: [
      `${rounds} interleaved rounds; \`startProduct\` itself, inside a process that has loaded the kernel: ` +
        `${median(inProcess).toFixed(1)} ms`,
      'Node.js strips the types of TypeScript source at every start; a published package is JavaScript, as Fastify is',
    ],
    bars: [bar(kernel), bar(fromSource)],
  }
}
