import { readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { text as readAll } from 'node:stream/consumers'
import type { database } from '@plinth/database'
import {
  BusinessError,
  type CommandDeclaration,
  errorCodeOf,
  isBusinessError,
  type JsonValue,
  type PlinthError,
} from '@plinth/kernel'
import { type PluginRuntime, parseValueText } from '@plinth/kernel/host'
import { parseImportDocument } from './changes/transfer.ts'
import {
  type ConfigChange,
  configCentre,
  type Effect,
  type HistoryEntry,
  type Preview,
  type ResealReport,
  type SaveResult,
} from './contract.ts'
import { systemConfigError } from './declarations.ts'

type Uses = { requires: { database: typeof database }; provides: readonly [typeof configCentre] }
type Command = CommandDeclaration<Uses>
type Runtime = PluginRuntime<Uses>

const reasonOption = { flags: '--reason <text>', description: 'reason for the change, stored in the history' }
const dryRunOption = { flags: '--dry-run', description: 'show the changes without saving them' }

/** The operator, identified by the user name of the operating system. */
const actor = () => ({ name: `cli:${userInfo().username}` })
const textOf = (option: unknown) => (typeof option === 'string' ? { reason: option } : {})

const declared: readonly Command[] = [
  {
    name: 'config set',
    summary: 'store a value of a key in the database, for all instances',
    arguments: [
      { name: '<key>', description: 'the key' },
      { name: '[value]', description: 'the value; if absent, it is read from standard input, which secrets require' },
    ],
    options: [
      reasonOption,
      dryRunOption,
      {
        flags: '--no-verify',
        description:
          'store the value even if its plugin rejects it or does not respond; the product may then fail to start',
      },
    ],
    async run(runtime, { args, options, output, signal }) {
      const [key = '', given] = args
      const declaration = (await runtime.own(configCentre).get(key)).declaration
      if (declaration?.sensitive && given !== undefined) {
        throw usage(`${key} is a secret: give it on standard input, because other users see command lines.`)
      }
      if (given === undefined && process.stdin.isTTY) output.progress('The value, then Enter and Ctrl+D:')
      const text = given ?? (await readAll(process.stdin)).replace(/\r?\n$/, '')
      const change: ConfigChange = { key, action: 'set', value: valueFromText(declaration, key, text) }
      return carryOut(runtime, [change], { options, output, signal })
    },
  },
  {
    name: 'config reset',
    summary: 'remove stored values of keys, so that other sources apply again',
    arguments: [{ name: '<keys...>', description: 'the keys' }],
    options: [reasonOption, dryRunOption],
    async run(runtime, { args, options, output, signal }) {
      const changes = args.flat().map((key): ConfigChange => ({ key, action: 'reset' }))
      return carryOut(runtime, changes, { options, output, signal })
    },
  },
  {
    name: 'config export',
    summary: 'print the stored values without secrets, as JSON',
    options: [{ flags: '--file <file>', description: 'file to write to' }],
    async run(runtime, { options, output }) {
      const document = await runtime.own(configCentre).export()
      const text = JSON.stringify(document, undefined, 2)
      const file = options['file']
      if (typeof file !== 'string') return output.result(document, text)
      await writeFile(file, `${text}\n`)
      const count = Object.keys(document.values).length
      output.result(
        { file, count },
        `${count} values written to ${file}; ${document.omittedSecrets.length} secrets left out.`,
      )
    },
  },
  {
    name: 'config import',
    summary: 'store the values of an exported document',
    arguments: [{ name: '<file>', description: 'file with the document' }],
    options: [
      reasonOption,
      dryRunOption,
      { flags: '--replace', description: 'also remove stored values that are not in the document, except secrets' },
    ],
    async run(runtime, { args, options, output, signal }) {
      const centre = runtime.own(configCentre)
      const document = parseImportDocument(await textOfFile(args[0] ?? ''))
      const mode = options['replace'] === true ? 'replace' : 'merge'
      if (options['dryRun'] === true) {
        return showPreview(output, await centre.preview(await centre.importChanges(document, mode)))
      }
      showResult(output, await centre.import(document, { mode, actor: actor(), signal, ...textOf(options['reason']) }))
    },
  },
  {
    name: 'config rollback',
    summary: 'restore the stored values of a version as a new version',
    arguments: [{ name: '<version>', description: 'version number from `plinth config history`' }],
    options: [reasonOption, dryRunOption],
    async run(runtime, { args, options, output, signal }) {
      const centre = runtime.own(configCentre)
      const version = Number(args[0])
      if (options['dryRun'] === true) {
        return showPreview(output, await centre.preview(await centre.rollbackChanges(version)))
      }
      showResult(output, await centre.rollback(version, { actor: actor(), signal, ...textOf(options['reason']) }))
    },
  },
  {
    name: 'config history',
    summary: 'list changes of stored values with user, time and reason, newest first',
    options: [
      { flags: '--key <key>', description: 'only this key' },
      { flags: '--limit <count>', description: 'maximum number of changes; default 50' },
    ],
    async run(runtime, { options, output }) {
      const limit = Number(options['limit'] ?? 50)
      if (!Number.isInteger(limit) || limit < 1 || limit > 10_000) throw usage('--limit is a number from 1 to 10000.')
      const key = options['key']
      const window = { size: limit, offset: 0, count: 'none' } as const
      const { items } = await runtime.own(configCentre).history(typeof key === 'string' ? { key } : {}, window)
      // Throws if the key is unknown, because a misspelt key has no history either.
      if (items.length === 0 && typeof key === 'string') await runtime.own(configCentre).get(key)
      output.result(items, items.length === 0 ? 'Nothing was changed yet.' : items.map(historyLine).join('\n'))
    },
  },
  {
    name: 'config reseal',
    summary: 'encrypt every stored secret again, in the form that all versions read',
    async run(runtime, { output }) {
      const report = await runtime.own(configCentre).resealSecrets()
      output.result(report, [`${report.reencrypted} values were encrypted again.`, ...unreadableLine(report)].join(' '))
      return report.unreadable.length === 0 ? 0 : 1
    },
  },
  {
    name: 'secrets rotate',
    summary: 'encrypt every stored secret with a new master key',
    async run(runtime, { output }) {
      const report = await runtime.own(configCentre).rotateSecrets()
      output.result(report, `${report.reencrypted} values were encrypted with the current master key. ${report.advice}`)
      return report.unreadable.length === 0 ? 0 : 1
    },
  },
]

const unreadableLine = ({ unreadable }: ResealReport) =>
  unreadable.length === 0
    ? []
    : [`No known master key decrypts values of ${unreadable.join(', ')}. Restore their key, or set them again.`]

interface Means {
  readonly options: Parameters<Command['run']>[1]['options']
  readonly output: Parameters<Command['run']>[1]['output']
  readonly signal: AbortSignal
}

async function carryOut(runtime: Runtime, changes: readonly ConfigChange[], { options, output, signal }: Means) {
  const centre = runtime.own(configCentre)
  if (options['dryRun'] === true) return showPreview(output, await centre.preview(changes))
  const verify = options['verify'] !== false
  showResult(output, await centre.save(changes, { actor: actor(), verify, signal, ...textOf(options['reason']) }))
}

async function textOfFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw usage(`${file} cannot be read: ${errorCodeOf(error)}.`)
  }
}

function valueFromText(
  declaration: Parameters<typeof parseValueText>[0] | undefined,
  key: string,
  text: string,
): JsonValue {
  // No plugin declares the key. The config centre rejects the change.
  if (declaration === undefined) return text
  const read = parseValueText(declaration, text)
  if (!read.ok) throw usage(`${key} ${read.message}`)
  return read.value
}

const usage = (message: string) => new BusinessError('400', message)

/** Commands of the config centre. A business error becomes a command error with details and a fix. */
export const commands: readonly Command[] = declared.map((command) => ({
  ...command,
  // Sets up other plugins if possible, because owners verify values and the audit records changes. But an operator must
  // be able to correct a value that prevents the setup.
  setsUp: 'possible',
  async run(runtime, invocation) {
    try {
      return await command.run(runtime, invocation)
    } catch (error) {
      throw isBusinessError(error) ? commandError(error) : error
    }
  },
}))

const fixes: Readonly<Record<string, string>> = {
  'system-config.storage-unavailable': 'Start the database, and run `plinth migrate` if it is new.',
  'system-config.master-key': 'Restore the master key; see platform.system-config.master-key and -file.',
  'system-config.conflict': 'Run `plinth config history` to see the other change, and try again.',
}

function commandError(failure: BusinessError): PlinthError {
  const faults = (failure.data?.['errors'] ?? []) as readonly { readonly message: string }[]
  const near = failure.data?.['nearest']
  const hint = typeof near === 'string' ? ` Did you mean "${near}"?` : ''
  const reason = [`${failure.message}${hint}`, ...faults.map((problem) => `  ${problem.message}`)].join('\n')
  const fix = fixes[failure.reason ?? ''] ?? 'Correct the arguments. `plinth config explain` shows the rule of a key.'
  return systemConfigError('PLINTH_SYSTEM_CONFIG_REFUSED', { reason, fix }, failure.cause)
}

function showPreview(output: Means['output'], preview: Preview): number {
  const faults = preview.faults.map(({ message }) => `refused: ${message}`)
  const lines = [...faults, ...preview.effects.map(effectLine)]
  output.result(preview, lines.length === 0 ? 'Nothing would change.' : lines.join('\n'))
  return preview.faults.length === 0 ? 0 : 1
}

function showResult(output: Means['output'], result: SaveResult): void {
  const lines = result.effects.map(effectLine)
  output.result(result, lines.length === 0 ? 'Nothing to change.' : [`Version ${result.version}`, ...lines].join('\n'))
}

const shownValue = (value: JsonValue | undefined) => (value === undefined ? '(none)' : JSON.stringify(value))

const outcomes: Readonly<Record<Effect['outcome'], string>> = {
  applied: 'counts within seconds on every instance',
  pendingRestart: 'counts after a restart',
  shadowed: 'does not count: the command line overrides it',
  rejected: 'was refused by its plugin; the old value stays in force',
  unchanged: 'was so already',
  unset: 'the secret does not apply any more',
  requested: 'waits for the approval of another operator',
}

function effectLine({ key, before, after, outcome, reason, destination = {} }: Effect): string {
  const values = Object.entries(destination).map(([name, value]) => `${name} = ${shownValue(value)}`)
  const sentTo = values.length === 0 ? '' : `; sent to ${values.join(', ')}`
  const why = reason === undefined ? '' : ` (${reason})`
  return `${key}: ${shownValue(before)} -> ${shownValue(after)}; ${outcomes[outcome]}${why}${sentTo}`
}

function historyLine({ version, changedAt, actor: who, key, before, after, origin, reason }: HistoryEntry): string {
  const why = reason === undefined ? '' : `  "${reason}"`
  return `${version}  ${changedAt.toISOString()}  ${who}  ${origin}  ${key}: ${shownValue(before)} -> ${shownValue(after)}${why}`
}
