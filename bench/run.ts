/**
 * Runs the benchmarks one after another. At the end it lists those that were omitted, with the reason. Use `node
 * bench/run.ts`, with `--only ledger --only expiry` for some of them, `--with overview` to add a long one, or `--list`
 * to show all.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { findOmissionsIn, tableText } from './kernel/report.ts'

interface Program {
  readonly name: string
  /** Relative to this directory. */
  readonly file: string
  readonly words?: readonly string[]
  readonly nodeWords?: readonly string[]
  readonly minutes: number
  /** Reason why the benchmark runs only on request. */
  readonly omitted?: string
}

const long = 'takes long'

const programs: readonly Program[] = [
  { name: 'kernel', file: 'kernel/run.ts', minutes: 8 },
  { name: 'iam', file: 'iam/run.ts', minutes: 2 },
  { name: 'rate-limit', file: 'rate-limit/run.ts', minutes: 12 },
  { name: 'install', file: 'install/run.ts', minutes: 1 },
  { name: 'redaction', file: 'redaction/run.ts', minutes: 1 },
  { name: 'ledger', file: 'ledger/run.ts', minutes: 3 },
  {
    name: 'expiry',
    file: 'ledger/expiry.ts',
    words: ['--lots', '300000', '--due', '65000', '--rows', '150'],
    minutes: 6,
  },
  { name: 'delivery', file: 'notification/delivery.ts', minutes: 3 },
  { name: 'inbox', file: 'notification/inbox.ts', minutes: 3 },
  { name: 'broadcast', file: 'notification/broadcast.ts', minutes: 5 },
  { name: 'rules', file: 'notification/rules.ts', minutes: 1 },
  { name: 'webhook', file: 'notification/webhook.ts', minutes: 1 },
  { name: 'outbox', file: 'outbox/run.ts', minutes: 15 },
  { name: 'sockets', file: 'notification/sockets.ts', nodeWords: ['--expose-gc'], minutes: 1 },
  { name: 'web3', file: 'web3/run.ts', minutes: 2 },
  { name: 'settlement', file: 'web3/settlement.ts', minutes: 1 },
  { name: 'overload', file: 'overload/run.ts', minutes: 2 },
  { name: 'scale', file: 'scale/run.ts', minutes: 20 },
  { name: 'idle', file: 'idle/run.ts', minutes: 2 },
  { name: 'tracing', file: 'tracing/run.ts', minutes: 2 },
  { name: 'growth', file: 'growth/run.ts', words: ['--rows', '100000'], minutes: 15 },
  { name: 'growth-million', file: 'growth/run.ts', minutes: 60, omitted: `${long}: a million rows` },
  { name: 'expiry-million', file: 'ledger/expiry.ts', minutes: 30, omitted: `${long}: a million lots` },
  { name: 'overview', file: 'ledger/overview.ts', minutes: 60, omitted: `${long}: ten million entries` },
  { name: 'back-office', file: 'console/run.ts', minutes: 8 },
  {
    name: 'console',
    file: 'console/directus.ts',
    minutes: 5,
    omitted: 'needs a Directus that runs; start it by hand: node bench/console/directus.ts <url> <e-mail> <password>',
  },
]
const names = programs.map(({ name }) => name)

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    with: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
    /** True if the packages that are compared with Plinth are already installed, so they are not installed again. */
    installed: { type: 'boolean', default: false },
  },
})
for (const name of [...(values.only ?? []), ...values.with]) {
  if (!names.includes(name)) throw new RangeError(`There is no program ${name}. Programs: ${names.join(', ')}.`)
}

/** Runs a program until it ends, shows its output, and returns the output with the exit code. */
async function run(
  command: string,
  words: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text)
    output += text
  })
  const [code] = await once(child, 'close')
  return { code: code ?? 1, output }
}

const isChosen = ({ name, omitted }: Program) =>
  values.only === undefined ? omitted === undefined || values.with.includes(name) : values.only.includes(name)

function showPrograms(): void {
  const rows = programs.map(({ name, file, words = [], minutes, omitted = '' }) => {
    return [name, [`bench/${file}`, ...words].join(' '), String(minutes), omitted]
  })
  console.log(tableText([['program', 'command', 'minutes', 'only when named'], ...rows]))
}

async function runChosen(): Promise<void> {
  if (!values.installed) {
    const { code } = await run('npm', ['--prefix', import.meta.dirname, 'ci', '--no-audit', '--no-fund'])
    if (code !== 0) throw new Error('The peers could not be installed.')
  }
  const omitted: string[] = []
  for (const program of programs) {
    const { name, file, words = [], nodeWords = [], minutes } = program
    if (!isChosen(program)) {
      omitted.push(`${name}: ${values.only === undefined ? program.omitted : 'not named by --only'}`)
      continue
    }
    const path = join(import.meta.dirname, file)
    const command = ['--disable-warning=ExperimentalWarning', ...nodeWords, path, ...words]
    console.log(`# ${name}: ${relative(process.cwd(), path)} ${words.join(' ')}, about ${minutes} min\n`)
    const { code, output } = await run(process.execPath, command)
    omitted.push(...findOmissionsIn(output).map((part) => `${name}, ${part}`))
    if (code === 0) continue
    process.exitCode = 1
    omitted.push(`${name}: failed with exit code ${code}`)
  }
  console.log(`\n# Left out\n\n${omitted.map((part) => `- ${part}`).join('\n') || 'Nothing.'}`)
}

if (values.list) showPrograms()
else await runChosen()
